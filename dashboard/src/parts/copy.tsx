// Buttons that put text where it can be pasted.
//   <CopyButton text="..." label="Copy" /> · <CopyLink /> the address of what is shown · <Command text="benchwright run ..." />

import { useEffect, useState } from "preact/hooks";
import "./copy.css";

export function CopyButton({
  text,
  label = "Copy",
  about,
}: {
  text: string | (() => string);
  label?: string;
  about?: string;
}) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => setSaid((await copied(typeof text === "string" ? text : text())) ? "Copied" : "Copy failed");
  return (
    <button type="button" class="copy" onClick={copy} aria-label={about && !said ? `${label}: ${about}` : undefined}>
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}

export function CopyLink({ label = "Copy link" }: { label?: string }) {
  return <CopyButton text={() => location.href} label={label} />;
}

/** A command to type, in one text or in its words, with a button that copies it. */
export function Command({ text: given }: { text: string | readonly string[] }) {
  const text = typeof given === "string" ? given : shellLine(given);
  return (
    <div class="command">
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} about={text} />
    </div>
  );
}

/** The words of a command in one line, as a shell reads them back. */
export function shellLine(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

/** A word as a shell reads it back; what is plain stays as it is. */
function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** Browsers give the clipboard to safe origins alone; a server in the house is often none. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "aside";
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
