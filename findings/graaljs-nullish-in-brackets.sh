#!/bin/sh
# Packages: org.graalvm.js:js 22.3.0 (the engine of Ranger 2.9.0's script conditions) and org.graalvm.polyglot:js-community
# 25.0.1, from Maven Central; quickjs 1.19.4 of PyPI beside them.
# Behaviour: GraalJS 22.3.0 does not compile `c && ((a) ?? b)` nor `a ?? ((b) || c)`: SyntaxError. Without the inner brackets,
# `c && (a ?? b)`, it does. 25.0.1 compiles all three.
# Why it surprises: mixing `??` with `&&` and `||` is an error only without brackets; these have them, so the grammar of
# ECMAScript allows them, and other engines take them. A formatter or a generator may well add the inner pair.
# What it means: a condition that was tried in a browser or in Node.js may fail to compile in Ranger, which then treats the item
# as one whose condition does not hold: an allow item gives nothing, a deny item denies nobody.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > Ask.java <<'JAVA'
import org.graalvm.polyglot.Context;
import org.graalvm.polyglot.PolyglotException;

public class Ask {
  public static void main(String[] scripts) {
    try (Context context = Context.newBuilder("js").option("engine.WarnInterpreterOnly", "false").build()) {
      for (String script : scripts) {
        try {
          System.out.print(context.eval("js", script) + " ");
        } catch (PolyglotException e) {
          System.out.print((e.isSyntaxError() ? "SyntaxError" : "error") + " ");
        }
      }
    }
  }
}
JAVA

ask() { # artifact, scripts
  artifact=$1; shift
  mkdir -p "$artifact" && cat > "$artifact/pom.xml" <<XML
<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>a</artifactId><version>1</version>
<dependencies><dependency><groupId>${artifact%%:*}</groupId><artifactId>$(echo "$artifact" | cut -d: -f2)</artifactId>
<version>${artifact##*:}</version><type>${type:-jar}</type></dependency></dependencies></project>
XML
  mvn -q -B -f "$artifact/pom.xml" dependency:build-classpath "-Dmdep.outputFile=$folder/classpath" >/dev/null
  java -cp "$(cat classpath)" Ask.java "$@" 2>/dev/null
}

set -- '1 && (null ?? 2)' '1 && ((null) ?? 2)' 'null ?? ((0) || 3)'
old=$(ask org.graalvm.js:js:22.3.0 "$@")
new=$(type=pom ask org.graalvm.polyglot:js-community:25.0.1 "$@")
python3 -m venv env
env/bin/python -m pip install --quiet --disable-pip-version-check quickjs==1.19.4
other=$(env/bin/python -c 'import sys, quickjs; print(*(quickjs.Context().eval(script) for script in sys.argv[1:]), "")' "$@")
printf '%s\n' "GraalJS 22.3.0: $old" "GraalJS 25.0.1: $new" "QuickJS: $other"
[ "$old" = "2 SyntaxError SyntaxError " ] && [ "$new" = "2 2 3 " ] && [ "$other" = "$new" ]
