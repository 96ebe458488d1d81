// Tokens of programs: made (and shown once), listed with their last use, revoked.

import { useState } from "preact/hooks";
import { send, useData, useLast } from "../../api";
import { CopyButton } from "../../parts/copy";
import { date } from "../../parts/format";
import { Answered, Empty, Problem } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { When } from "../../parts/when";
import type { TokenLine, TokensPage } from "../../shapes";
import { useActions } from "./actions";

interface MadeToken {
  name: string;
  token: string;
}

const SCOPES = [
  ["read", "look at everything"],
  ["triage", "and triage findings, set rules"],
  ["write", "and send results"],
  ["admin", "and everything else"],
  ["agent", "offer machines to the lab, and nothing else"],
] as const;

export function Tokens() {
  const actions = useActions();
  const [made, setMade] = useState<MadeToken | null>(null);
  const answer = useLast(useData<TokensPage>("tokens", {}, actions.again));
  const revoke = ({ name }: TokenLine) =>
    actions.act(() => send("DELETE", `tokens/${encodeURIComponent(name)}`)).then(() => setMade(null));
  const buttons: Column<TokenLine> = {
    name: "actions",
    head: "Actions",
    cell: (line) => (
      <button
        type="button"
        aria-label={`Revoke ${line.name}`}
        onClick={() => confirm(`Revoke the token ${line.name}? What uses it stops working.`) && void revoke(line)}
      >
        Revoke
      </button>
    ),
  };
  const make = async (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = Object.fromEntries(new FormData(form)) as { [name: string]: string };
    setMade(null);
    const kept = await actions.act(async () => {
      setMade(await send<MadeToken>("POST", "tokens", { ...given, name: given["name"]?.trim() }));
    });
    if (kept) form.reset();
  };
  return (
    <>
      {actions.error && <Problem error={actions.error} />}
      {made && (
        <div class="panel stack-tight" role="status">
          <strong>The token of {made.name}. It is shown this once.</strong>
          <span class="row">
            <code class="settings-token">{made.token}</code>
            <CopyButton text={made.token} about="the token" />
          </span>
        </div>
      )}
      <Answered answer={answer}>
        {({ tokens }) =>
          tokens.length ? (
            <Table
              caption="Tokens"
              columns={[...COLUMNS, buttons]}
              rows={tokens}
              keyOf={(line) => line.name}
              sorted="name"
              cards
            />
          ) : (
            <Empty title="No tokens yet." />
          )
        }
      </Answered>
      <form class="panel stack-tight" aria-label="New token" onSubmit={make}>
        <h2>Create a token</h2>
        <div class="row filters">
          <label class="field grow">
            Name of the program or machine
            <input name="name" required maxLength={100} autocomplete="off" />
          </label>
          <label class="field">
            Scope
            <select name="scope">
              {SCOPES.map(([scope, does]) => (
                <option key={scope} value={scope}>
                  {scope}: {does}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            Valid for
            <select name="expires">
              <option value="90d">90 days</option>
              <option value="365d">a year</option>
              <option value="">ever</option>
            </select>
          </label>
        </div>
        <div class="row">
          <button type="submit" class="main" disabled={actions.busy}>
            Create
          </button>
        </div>
      </form>
    </>
  );
}

const COLUMNS: Column<TokenLine>[] = [
  { name: "name", head: "Token of", heads: true, wide: true, by: (line) => line.name, cell: (line) => line.name },
  { name: "scope", head: "Scope", by: (line) => line.scope, cell: (line) => line.scope },
  { name: "made", head: "Made", by: (line) => line.made_at, cell: (line) => <When at={line.made_at} /> },
  {
    name: "used",
    head: "Last used",
    by: (line) => line.used_at,
    cell: (line) => (line.used_at ? <When at={line.used_at} /> : "never"),
  },
  {
    name: "expires",
    head: "Valid until",
    by: (line) => line.expires_at || Number.MAX_VALUE,
    cell: (line) => (line.expires_at ? date(line.expires_at) : "for ever"),
  },
];
