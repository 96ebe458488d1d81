"""What models are fed: arrays made or read, their shapes, and state that goes from call to call."""
