"""Tools about policies, added to the command line by hooks; nothing that decides imports them."""
