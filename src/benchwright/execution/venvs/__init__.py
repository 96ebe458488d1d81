"""Virtual environments that something is measured in, and the programs that fill them; here and on other machines."""
