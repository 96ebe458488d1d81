// A rule that is added or changed: its fields, what it would have done lately, and the buttons that keep it or leave it.
//   <RuleForm name="Mute" title="..." query={preview} names="..." keep={async () => ...} add="Mute" ready>fields</RuleForm>

import type { ComponentChildren } from "preact";
import type { Query } from "../../api";
import { Preview } from "./preview";

interface RuleFormProps {
  name: string;
  title: string;
  /** What is asked to be previewed; null while it means nothing. */
  query: Query | null;
  /** What the findings of the preview are called. */
  names: string;
  /** Keeps the rule; says whether that was done. */
  keep: () => Promise<void>;
  ready: boolean;
  /** What adds a rule is called. */
  add?: string;
  heading?: "h2" | "h3";
  /** Leaves a rule as it was, where one is being changed. */
  cancel?: (() => void) | undefined;
  children: ComponentChildren;
}

export function RuleForm(props: RuleFormProps) {
  const { name, title, query, names, keep, ready, add = "Add", heading: Heading = "h3", cancel, children } = props;
  const submit = (event: Event) => {
    event.preventDefault();
    void keep();
  };
  return (
    <form class="panel stack-tight" aria-label={name} onSubmit={submit}>
      <Heading>{title}</Heading>
      {children}
      <Preview query={query} names={names} />
      <div class="row">
        <button type="submit" class="main" disabled={!ready}>
          {cancel ? "Keep the change" : add}
        </button>
        {cancel && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}

/** The smallest change that is told. */
export function SmallestField({ value, change }: { value: string; change: (value: string) => void }) {
  return (
    <label class="field">
      Smallest change, per cent
      <input inputMode="decimal" size={8} required value={value} onInput={(e) => change(e.currentTarget.value)} />
    </label>
  );
}

interface CaseFieldProps {
  label: string;
  value: string;
  change: (value: string) => void;
  fixed?: boolean;
}

/** A name of a case, which may hold `*`. */
export function CaseField({ label, value, change, fixed = false }: CaseFieldProps) {
  return (
    <label class="field grow">
      {label}
      <input
        list="settings-cases"
        required
        maxLength={500}
        readOnly={fixed}
        placeholder="a name; * stands for anything"
        value={value}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
  );
}
