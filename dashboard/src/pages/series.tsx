// Series: #/series lists them, #/series/KEY,KEY2 draws them over time. Everything that is chosen is in the address.

import type { PageProps } from "../shell";
import { SeriesChart } from "./series/drawn";
import { SeriesList } from "./series/list";
import "./series/series.css";

export function SeriesPage({ route }: PageProps) {
  const keys = (route.parts[0] ?? "").split(",").filter(Boolean);
  return keys.length ? <SeriesChart keys={keys} query={route.query} /> : <SeriesList query={route.query} />;
}
