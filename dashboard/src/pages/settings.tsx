// What is reported and to whom, and who may do what: #/settings/rules, notifications, tokens, people, audit. Each part is
// shown to those who may change it.

import type { ComponentType } from "preact";
import { may, useAbout } from "../parts/about";
import { Empty } from "../parts/states";
import { useTitle } from "../parts/title";
import { href, type Route } from "../route";
import type { PageProps } from "../shell";
import type { About } from "../shapes";
import { AuditLog } from "./settings/audit";
import { Notifications } from "./settings/notifications";
import { People } from "./settings/people";
import { Rules } from "./settings/rules";
import { Tokens } from "./settings/tokens";
import "./settings/settings.css";

interface Part {
  name: string;
  title: string;
  scope: "triage" | "admin";
  shows: ComponentType<{ route: Route }>;
}

const PARTS: readonly Part[] = [
  { name: "rules", title: "Rules", scope: "triage", shows: Rules },
  { name: "notifications", title: "Notifications", scope: "admin", shows: Notifications },
  { name: "tokens", title: "Tokens", scope: "admin", shows: Tokens },
  { name: "people", title: "People", scope: "admin", shows: People },
  { name: "audit", title: "Audit log", scope: "admin", shows: AuditLog },
];

export function SettingsPage({ route }: PageProps) {
  const about = useAbout();
  const [name = "rules"] = route.parts;
  const part = PARTS.find((one) => one.name === name);
  useTitle(part?.title ?? "Settings");
  if (!about) return null;
  const open = PARTS.filter(({ scope }) => may(about, scope));
  return (
    <div class="stack">
      <h1>Settings</h1>
      {open.length > 1 && (
        <nav class="settings-parts" aria-label="Settings">
          {open.map((one) => (
            <a key={one.name} href={href("settings", [one.name])} aria-current={one === part ? "page" : undefined}>
              {one.title}
            </a>
          ))}
        </nav>
      )}
      {part && open.includes(part) ? <part.shows route={route} /> : <Closed about={about} part={part} />}
    </div>
  );
}

function Closed({ about, part }: { about: About; part: Part | undefined }) {
  if (!part) return <Empty title="No such page of settings." />;
  if (about.static) return <Empty title="This is a published copy: it is read-only." />;
  return (
    <Empty title={`${part.title} needs the role ${part.scope}.`}>
      <p>{about.who ? `You are signed in as ${about.who}.` : "Sign in first."}</p>
    </Empty>
  );
}
