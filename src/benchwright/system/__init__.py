"""What belongs to the operating system and the network, standard library only: processes, files, texts, HTTP."""
