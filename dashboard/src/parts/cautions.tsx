// What to know before trusting numbers: warnings with remedies, and failures with reasons.
//   <Warnings warnings={warnings} />  alike ones once · <Failed name="case" failure={failure} />

import { href } from "../route";
import type { Failure, ResultWarning } from "../shapes";
import "./cautions.css";

export interface Warned {
  warning: ResultWarning;
  /** Where it was seen; nothing when that is plain. */
  cases?: readonly string[];
}

export function Warnings({ warned }: { warned: readonly Warned[] }) {
  return (
    <ul class="cautions">
      {warned.map(({ warning, cases }) => (
        <li class="caution" key={`${warning.code} ${warning.seen}`}>
          <p>
            <code class="unclear">{warning.code}</code> {warning.seen}
          </p>
          {warning.remedy && <p class="soft">{warning.remedy}</p>}
          {cases && <p class="soft small">In {cases.join(", ")}</p>}
        </li>
      ))}
    </ul>
  );
}

export function Failed({ name, result, failure }: { name?: string; result?: string | undefined; failure: Failure }) {
  return (
    <div class="caution failed">
      <p>
        {name && <strong>{name} </strong>}
        <span class="worse">{failure.kind}</span>
        {failure.message && `: ${failure.message}`} {result && <a href={href("results", [result])}>result</a>}
      </p>
      {failure.remedy && <p class="soft">{failure.remedy}</p>}
      {failure.log_tail && (
        <details>
          <summary>End of the log</summary>
          <pre tabIndex={0}>{failure.log_tail}</pre>
        </details>
      )}
    </div>
  );
}
