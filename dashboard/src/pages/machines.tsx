// Machines: #/machines tells who measured what and how noisy each was, #/machines/KEY tells all of one.

import { useState } from "preact/hooks";
import { useData, type Query } from "../api";
import { Answered } from "../parts/states";
import type { MachinesPage as Machines, MachineView as Machine } from "../shapes";
import type { PageProps } from "../shell";
import { MachineList } from "./machines/list";
import { MachineView } from "./machines/machine";
import "./machines/machines.css";

export function MachinesPage({ route }: PageProps) {
  const [key] = route.parts;
  return key ? <One reference={key} /> : <All query={route.query} />;
}

function All({ query }: { query: Query }) {
  const answer = useData<Machines>("machines");
  return <Answered answer={answer}>{({ machines }) => <MachineList machines={machines} query={query} />}</Answered>;
}

function One({ reference }: { reference: string }) {
  const [again, setAgain] = useState(0);
  const answer = useData<Machine>(`machines/${encodeURIComponent(reference)}`, {}, again);
  return (
    <Answered answer={answer}>
      {(view) => <MachineView view={view} reload={() => setAgain((times) => times + 1)} />}
    </Answered>
  );
}
