"""The `claw` command. Nothing below this package imports it."""
