// Files that a measurement left behind: <Artifacts result={result.id} artifacts={result.artifacts} />

import { address, isStatic } from "../../api";
import type { Artifact } from "../../shapes";
import { Fold } from "../../parts/fold";
import { value } from "../../parts/format";
import { Table, type Column } from "../../parts/table";

export function Artifacts({ result, artifacts }: { result: string; artifacts: readonly Artifact[] }) {
  const columns: Column<Artifact>[] = [
    { name: "name", head: "File", cell: (one) => <Name result={result} artifact={one} />, heads: true },
    { name: "kind", head: "Kind", cell: (one) => one.kind },
    { name: "size", head: "Size", cell: (one) => value(one.size, "B"), by: (one) => one.size, number: true },
    { name: "path", head: "Path", cell: (one) => <span class="soft result-path">{one.path}</span> },
    {
      name: "sha256",
      head: "SHA-256",
      cell: (one) => one.sha256 && <code title={one.sha256}>{one.sha256.slice(0, 12)}</code>,
    },
  ];
  return (
    <Fold id="files" title="Files" count={artifacts.length}>
      <Table caption="Files of this result" columns={columns} rows={artifacts} keyOf={(one) => one.name} cards />
    </Fold>
  );
}

/** A published site carries no files, so there is nothing to load. */
function Name({ result, artifact }: { result: string; artifact: Artifact }) {
  if (isStatic) return <>{artifact.name}</>;
  const where = address(`results/${encodeURIComponent(result)}/artifacts/${encodeURIComponent(artifact.name)}`, {});
  return (
    <a href={where} download={artifact.name}>
      {artifact.name}
    </a>
  );
}
