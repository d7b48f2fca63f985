"""Groups of users from LDAP directories, added by hooks."""
