"""What people do with a lab: put cases into its queue, follow them, fetch results, and look after its machines."""
