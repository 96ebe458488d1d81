// What a rule would have done in the last 90 days, before it is kept. The server counts; see docs/findings.md.

import { useEffect, useState } from "preact/hooks";
import { useData, useLast, type Query } from "../../api";
import { VerdictBadge } from "../../parts/badges";
import { changeEnd, changeUnit, POINTS } from "../../parts/format";
import { href } from "../../route";
import type { PreviewedFinding, RulePreview } from "../../shapes";

const PAUSE = 300; // milliseconds after the last key

/** Of what is being typed; null while it means nothing. */
export function Preview({ query, names }: { query: Query | null; names: string }) {
  const asked = useSettled(query);
  const answer = useLast(useData<RulePreview>(asked && "rules/preview", asked ?? {}));
  return (
    <div class="preview" role="status">
      {asked === null ? (
        <p class="soft">A preview of the last 90 days appears here.</p>
      ) : answer.error !== undefined ? (
        <p class="worse">{answer.error}</p>
      ) : (
        answer.data && <Shown preview={answer.data} names={names} />
      )}
    </div>
  );
}

function Shown({ preview, names }: { preview: RulePreview; names: string }) {
  return (
    <>
      <p>{preview.sentence}</p>
      {preview.findings.length > 0 && (
        <details>
          <summary>{names}</summary>
          <ul>
            {preview.findings.map((one) => (
              <li key={one.id}>
                <Line finding={one} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Line({ finding }: { finding: PreviewedFinding }) {
  const unit = changeUnit(finding);
  return (
    <a class="row" href={href("findings", [finding.id])}>
      <VerdictBadge verdict={finding.verdict} /> {changeEnd(finding.ratio, unit)}
      {unit === POINTS && " points"} {finding.case} {finding.metric}
    </a>
  );
}

/** The query once nobody has typed for a moment. */
function useSettled(query: Query | null): Query | null {
  const text = JSON.stringify(query);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return JSON.parse(settled) as Query | null;
}
