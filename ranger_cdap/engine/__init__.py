"""How Ranger decides, for any service definition. Pure: no I/O, no clock, no logging, no CDAP."""
