"""What is asked of the operating system and of the standard library alone: processes, files, texts, addresses."""
