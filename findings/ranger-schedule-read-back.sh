#!/bin/sh
# Package: org.apache.ranger:ranger-plugins-common 2.9.0, from Maven Central.
# Behaviour: a validity schedule that repeats on days of the week is valid with `"dayOfMonth": ""`. Ranger's own JSON of it leaves
# the empty text out; read from that JSON and validated again, it is a NullPointerException instead of "valid" or a reason.
# Why it surprises: what a REST server answers is expected to be accepted when it is sent back unchanged.
# What it means: a client that gets a policy, changes another part of it and puts it back fails with an internal error as soon as
# somebody has given the policy a weekly period in the form. It must put the empty text in again.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'XML'
<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>a</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.ranger</groupId><artifactId>ranger-plugins-common</artifactId>
<version>2.9.0</version></dependency></dependencies></project>
XML
cat > Again.java <<'JAVA'
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import org.apache.ranger.plugin.model.RangerValiditySchedule;
import org.apache.ranger.plugin.model.validation.RangerValidityScheduleValidator;
import org.apache.ranger.plugin.model.validation.ValidationFailureDetails;

public class Again {
  static final ObjectMapper JSON = new ObjectMapper();

  static String validated(RangerValiditySchedule schedule) {
    List<ValidationFailureDetails> failures = new ArrayList<>();
    try {
      new RangerValidityScheduleValidator(schedule).validate(failures);
      return failures.isEmpty() ? "valid" : failures.toString();
    } catch (RuntimeException e) {
      return e.getClass().getSimpleName();
    }
  }

  public static void main(String[] unused) throws Exception {
    String sent = "{\"startTime\":\"2026/01/01 00:00:00\",\"endTime\":\"2027/01/01 00:00:00\",\"timeZone\":\"UTC\",\"recurrences\":["
        + "{\"schedule\":{\"minute\":\"0\",\"hour\":\"8\",\"dayOfMonth\":\"\",\"dayOfWeek\":\"2\",\"month\":\"*\",\"year\":\"*\"},"
        + "\"interval\":{\"days\":0,\"hours\":8,\"minutes\":0}}]}";
    RangerValiditySchedule first = JSON.readValue(sent, RangerValiditySchedule.class);
    String answer = JSON.writeValueAsString(first);
    System.out.print(validated(first) + ", " + (answer.contains("dayOfMonth") ? "kept" : "left out") + ", "
        + validated(JSON.readValue(answer, RangerValiditySchedule.class)));
  }
}
JAVA
mvn -q -B dependency:build-classpath -Dmdep.outputFile=classpath >/dev/null
found=$(java -cp "$(cat classpath)" Again.java 2>err.log)
echo "as sent, dayOfMonth in the JSON, read back: $found"
[ "$found" = "valid, left out, NullPointerException" ]
