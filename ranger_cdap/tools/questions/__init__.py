"""Questions of people about a set of policies, answered as values, texts and JSON documents."""
