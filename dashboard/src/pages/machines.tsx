// Machines: #/machines tells who measured what and how noisy each was, #/machines/KEY tells all of one.

import { useData } from "../api";
import { Empty, Answered } from "../parts/states";
import { href } from "../route";
import type { PageProps } from "../shell";
import type { MachinesPage as Machines } from "../shapes";
import { MachineList } from "./machines/list";
import { MachineView } from "./machines/machine";
import "./machines/machines.css";

export function MachinesPage({ route }: PageProps) {
  const [key] = route.parts;
  const answer = useData<Machines>("machines");
  return (
    <Answered answer={answer}>
      {({ machines }) => {
        if (!key) return <MachineList machines={machines} />;
        const machine =
          machines.find((one) => one.key === key) ?? only(machines.filter((one) => one.key.startsWith(key)));
        return machine ? <MachineView machine={machine} /> : <Unknown name={key} />;
      }}
    </Answered>
  );
}

function only<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined;
}

function Unknown({ name }: { name: string }) {
  return (
    <Empty title={`No machine is called ${name}.`}>
      <p>
        <a href={href("machines")}>All machines</a>
      </p>
    </Empty>
  );
}
