"""One module for each cloud, over the vendor's own library, which is imported only when a machine is asked for."""
