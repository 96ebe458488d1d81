"""The best of many configurations, found in a race: `benchwright tune` and `benchwright.tune`."""
