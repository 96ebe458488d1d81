import "./tokens.css";
import "./style.css";
import { render } from "preact";
import { startKeys } from "./parts/keys";
import { startTheme } from "./parts/theme";
import { Shell } from "./shell";

startTheme();
startKeys();
render(<Shell />, document.getElementById("app")!);
