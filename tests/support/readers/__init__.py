"""Every reader of what comes from elsewhere, and wrong files for it."""
