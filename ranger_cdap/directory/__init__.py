"""Groups of users from LDAP directories and from the accounts of this machine."""
