// What costs rest on: the price of each machine, and where the prices of a series change.
//   <PriceBases prices={run.prices} />  <PriceChanges views={views} />

import { href } from "../route";
import type { PriceMark, Release, SeriesView } from "../shapes";
import { date } from "./format";
import "./prices.css";

/** Each price once, in words; nothing where no cost is shown. */
export function PriceBases({ prices }: { prices: readonly string[] }) {
  const each = [...new Set(prices.filter(Boolean))];
  if (!each.length) return null;
  return (
    <p class="soft price-bases" role="note">
      Costs rest on {each.join("; ")}.{each.length > 1 && " Costs at different prices differ by the price as well."}
    </p>
  );
}

/** The prices of series of costs, from which run on each holds: a change of the price is no change of the speed. */
export function PriceChanges({ views }: { views: readonly SeriesView[] }) {
  const marks = views.flatMap((view) => view.prices);
  if (!marks.length) return null;
  return (
    <div class="price-bases" role="note">
      <p class="soft">Its costs rest on</p>
      <ul>
        {marks.map((mark) => (
          <li key={`${mark.run} ${mark.price}`}>
            from <a href={href("runs", [mark.run])}>{date(mark.at)}</a> on {mark.price}
            {mark.factor !== null && mark.factor !== 1 && ` (${changeText(mark)}; not a change of what was measured)`}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Changes of the price as names on the axis of time. */
export function priceReleases(views: readonly SeriesView[]): Release[] {
  return views
    .flatMap((view) => view.prices.slice(1))
    .map((mark) => ({ name: mark.factor === null ? "another price" : changeText(mark), at: mark.at, revision: "" }));
}

function changeText(mark: PriceMark): string {
  const percent = 100 * ((mark.factor ?? 1) - 1);
  return `price ${percent > 0 ? "+" : "−"}${Math.abs(percent).toPrecision(3)} %`;
}
