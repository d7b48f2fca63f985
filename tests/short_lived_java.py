"""For programs of Java that live for seconds: compiled quickly rather than well, with room for what was compiled."""

QUICK_JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"}
