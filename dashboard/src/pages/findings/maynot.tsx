// Why there is nothing to press for this visitor.

import { askForToken } from "../../api";
import { useAbout } from "../../parts/about";

export function MayNot() {
  const about = useAbout();
  if (!about) return null;
  if (about.static) return <p class="soft">This is a published copy, in which nothing can be changed.</p>;
  return (
    <p class="soft row">
      {about.who
        ? `The token of ${about.who} may look, but not change findings.`
        : "Whoever has no token may look, but not change findings."}
      <button type="button" onClick={askForToken}>
        Sign in
      </button>
    </p>
  );
}
