import "./tokens.css";
import "./style.css";
import { render } from "preact";
import { startDirection } from "./parts/direction";
import { startKeys } from "./parts/keys";
import { startPublished } from "./parts/published";
import { startTheme } from "./parts/theme";
import { Shell } from "./shell";

startDirection();
startPublished();
startTheme();
startKeys();
render(<Shell />, document.getElementById("app")!);
