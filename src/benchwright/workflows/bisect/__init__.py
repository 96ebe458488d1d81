"""The search for the commit that changed a figure."""
