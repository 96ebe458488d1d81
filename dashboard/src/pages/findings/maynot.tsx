// Why there is nothing to press for this visitor.

import { SignIn } from "../../frame/account";
import { useAbout } from "../../parts/about";

export function MayNot() {
  const about = useAbout();
  if (!about) return null;
  if (about.static) return <p class="soft">This is a published copy: it is read-only.</p>;
  return (
    <p class="soft row">
      {about.who ? `${about.who} may view findings, but not change them.` : "Sign in to change findings."}
      {!about.person && <SignIn about={about} />}
    </p>
  );
}
