"""Roles and privileges of Sentry, as roles and policies of Ranger."""
