import { expect, test } from "vitest";
import { authorHref, commitHref, learn, linksOf, rangeHref, requestHref, requestOf, safeLink } from "../src/parts/code";
import { repositoryOf } from "../src/pages/series/lines";
import type { CodeLinks } from "../src/shapes";
import { seriesView } from "./samples";
import shared from "./shared/code.json";

const links: { [name: string]: CodeLinks } = shared.links;

test("addresses are filled in as in Python", () => {
  for (const [name, id, url] of shared.commits) expect(commitHref(links[name!], id!)).toBe(url);
  for (const [name, base, head, url] of shared.ranges) expect(rangeHref(links[name!], base!, head!)).toBe(url);
  for (const [name, number, url] of shared.requests)
    expect(requestHref(links[name as string], number as number)).toBe(url);
  for (const [name, author, url] of shared.authors) expect(authorHref(links[name!], author!)).toBe(url);
  for (const [name, number, subject, wanted] of shared.numbers)
    expect(requestOf(links[name as string], number as number, subject as string)).toBe(wanted);
});

test("only http and https without a login are links", () => {
  for (const [url, good] of shared.safe)
    expect([url, safeLink(url as string) === url && url !== ""]).toEqual([url, good]);
});

test("half a character in a name breaks nothing", () => {
  expect(authorHref(links["github"], "\ud800")).toContain("%EF%BF%BD");
});

test("pages tell where repositories show their code", () => {
  expect(linksOf("https://github.com/o/n")).toBeUndefined();
  learn(null);
  learn({ code: { "https://github.com/o/n": links["github"] } });
  expect(linksOf("https://github.com/o/n")?.forge).toBe("GitHub");
});

test("the newest revisions of a series name their repository", () => {
  const view = seriesView({}, { revisions: ["old", "a", "b"], repository: [0, 1], repositories: ["", "https://x/y"] });
  expect([0, 1, 2, -1].map((place) => repositoryOf(view, place))).toEqual(["", "", "https://x/y", ""]);
});
