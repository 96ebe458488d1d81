"""The two forms of FAI-PEP's spec files: that of early 2018 (shapes, a map of commands, string paths) and today's."""
