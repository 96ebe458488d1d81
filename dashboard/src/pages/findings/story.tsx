// What was said and done about a finding, the oldest first.

import { Addresses } from "../../parts/codelinks";
import { date } from "../../parts/format";
import type { Remark } from "../../shapes";

export function Story({ remarks }: { remarks: readonly Remark[] }) {
  if (!remarks.length) return null;
  return (
    <section class="section panel" aria-labelledby="story">
      <h2 id="story">Story</h2>
      <ol class="story">
        {remarks.map((remark, index) => (
          <li key={index}>
            <p class="soft small">
              <time datetime={remark.at}>{date(Date.parse(remark.at))}</time> {remark.who || "unknown"}{" "}
              <strong>{remark.what === "comment" ? "commented" : remark.what}</strong>
            </p>
            {remark.text && (
              <p class="story-text">
                <Addresses text={remark.text} />
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
