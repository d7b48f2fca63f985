package rangercdap.extension;

import io.cdap.cdap.security.spi.authorization.AuditLogContext;
import io.cdap.cdap.security.spi.authorization.AuditLogRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells the service, as docs/reference/events.md describes it, how requests that it was asked about have ended. */
final class AuditRecords {

  private static final Logger LOG = LoggerFactory.getLogger(AuditRecords.class);
  // A request with more checks becomes several records, so that none is too long to be taken.
  private static final int MOST_CHECKS = 1_000;
  private static final int MOST_RECORDS = 500;
  // The versions of a record: whether its checks have stamps.
  private static final int STAMPED = 2;
  private static final int UNSTAMPED = 1;

  private final DecisionService service;
  private final Credentials credentials;
  private final String instance;

  AuditRecords(Settings settings, DecisionService service) {
    this.service = service;
    this.credentials = settings.audit();
    this.instance = settings.instance();
    if (credentials == null) {
      LOG.warn("audit.secret.file is not set: nobody is told what was created in CDAP");
    }
  }

  /** Whether records are wanted at all. */
  boolean wanted() {
    return credentials != null;
  }

  /** Returns when all records are stored or refused for good. */
  void publish(AuditLogRequest request) throws ServiceFailure {
    List<Map<String, Object>> records = records(request);
    if (!records.isEmpty() && credentials == null) {
      throw ServiceFailure.refused("audit.secret.file is not set", "");
    }
    for (int start = 0; start < records.size(); start += MOST_RECORDS) {
      send(records.subList(start, Math.min(start + MOST_RECORDS, records.size())));
    }
  }

  private void send(List<Map<String, Object>> records) throws ServiceFailure {
    Map<String, Object> question = new LinkedHashMap<>();
    question.put("records", records);
    Fields answer = service.tell("cdap/v1/audit", credentials, question);
    try {
      List<Fields> refused = answer.objects("refused");
      if (answer.count("stored") + refused.size() != records.size()) {
        throw ServiceFailure.unusable("its answer has another number of records");
      }
      for (Fields record : refused) {
        LOG.error("the decision service does not take the record of {}: {}",
            records.get(Math.min(record.count("index"), records.size() - 1)).get("uri"), record.text("reason"));
      }
    } catch (ServiceFailure e) {
      throw service.noted(e);
    }
  }

  private List<Map<String, Object>> records(AuditLogRequest request) {
    List<Map<String, Object>> checks = new ArrayList<>();
    List<Map<String, Object>> unstamped = new ArrayList<>();
    for (Map<String, Object> check : checks(request)) {
      (check.get("at") instanceof Long ? checks : unstamped).add(check);
    }
    List<Map<String, Object>> records = records(request, STAMPED, checks);
    // CDAP still holds what an older jar wrote before the upgrade.
    records.addAll(records(request, UNSTAMPED, unstamped));
    return records;
  }

  private List<Map<String, Object>> records(AuditLogRequest request, int version,
      List<Map<String, Object>> checks) {
    List<Map<String, Object>> records = new ArrayList<>();
    for (int start = 0; start < checks.size(); start += MOST_CHECKS) {
      records.add(record(request, version, checks.subList(start, Math.min(start + MOST_CHECKS, checks.size()))));
    }
    return records;
  }

  private Map<String, Object> record(AuditLogRequest request, int version, List<Map<String, Object>> checks) {
    long ended = TimeUnit.NANOSECONDS.toMillis(request.getEndTimeNanos());
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("v", version);
    json.put("instance", instance);
    json.put("method", request.getMethodType());
    json.put("uri", request.getUri());
    if (request.getHandler() != null && request.getMethod() != null) {
      json.put("handler", request.getHandler() + "." + request.getMethod());
    }
    json.put("code", request.getOperationResponseCode());
    if (request.getUserIp() != null) {
      json.put("user_ip", request.getUserIp());
    }
    json.put("started", Math.min(ended, TimeUnit.NANOSECONDS.toMillis(request.getStartTimeNanos())));
    json.put("ended", ended);
    json.put("checks", checks);
    return json;
  }

  private static List<Map<String, Object>> checks(AuditLogRequest request) {
    List<Map<String, Object>> checks = new ArrayList<>();
    if (request.getAuditLogContextQueue() == null) {
      return checks;
    }
    for (AuditLogContext context : request.getAuditLogContextQueue()) {
      if (context.isAuditLoggingRequired() && context.getAuditLogBody() != null) {
        try {
          checks.add(check(context.getAuditLogBody()));
        } catch (IOException e) {
          LOG.error("a check in the record of {} is not this extension's and is left out", request.getUri());
        }
      }
    }
    return checks;
  }

  /** The check as it was written; its time is a whole number again. */
  private static Map<String, Object> check(String body) throws IOException {
    Map<String, Object> check = Json.read(body);
    if (check.get("at") instanceof Double) {
      check.put("at", ((Double) check.get("at")).longValue());
    }
    return check;
  }
}
