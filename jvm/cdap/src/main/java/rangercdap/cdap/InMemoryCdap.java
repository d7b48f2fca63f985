package rangercdap.cdap;

import com.google.common.util.concurrent.Service;
import com.google.inject.Guice;
import com.google.inject.Injector;
import io.cdap.cdap.api.metrics.MetricsCollectionService;
import io.cdap.cdap.common.conf.CConfiguration;
import io.cdap.cdap.common.conf.Constants;
import io.cdap.cdap.common.namespace.NamespaceAdmin;
import io.cdap.cdap.data2.datafabric.dataset.service.DatasetService;
import io.cdap.cdap.data2.datafabric.dataset.service.executor.DatasetOpExecutorService;
import io.cdap.cdap.gateway.router.NettyRouter;
import io.cdap.cdap.internal.app.services.AppFabricProcessorService;
import io.cdap.cdap.internal.app.services.AppFabricServer;
import io.cdap.cdap.internal.profile.ProfileService;
import io.cdap.cdap.logging.service.LogQueryService;
import io.cdap.cdap.messaging.spi.MessagingService;
import io.cdap.cdap.metadata.MetadataService;
import io.cdap.cdap.metadata.MetadataSubscriberService;
import io.cdap.cdap.proto.NamespaceMeta;
import io.cdap.cdap.proto.id.EntityId;
import io.cdap.cdap.proto.id.InstanceId;
import io.cdap.cdap.proto.id.NamespaceId;
import io.cdap.cdap.proto.id.ProfileId;
import io.cdap.cdap.proto.profile.Profile;
import io.cdap.cdap.proto.security.Authorizable;
import io.cdap.cdap.proto.security.Principal;
import io.cdap.cdap.proto.security.StandardPermission;
import io.cdap.cdap.runtime.spi.SparkCompat;
import io.cdap.cdap.scheduler.CoreSchedulerService;
import io.cdap.cdap.scheduler.Scheduler;
import io.cdap.cdap.security.spi.authentication.SecurityRequestContext;
import io.cdap.cdap.security.spi.authorization.PermissionManager;
import io.cdap.cdap.spi.data.StructuredTableAdmin;
import io.cdap.cdap.spi.metadata.MetadataStorage;
import io.cdap.cdap.store.StoreDefinition;
import java.io.PrintStream;
import java.util.EnumSet;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.tephra.TransactionManager;

/** A whole CDAP in this process, configured by the cdap-site.xml on the class path, until standard input ends. */
public final class InMemoryCdap {

  private final Injector injector;

  private InMemoryCdap(CConfiguration cConf) {
    Configuration hConf = new Configuration();
    String dataDir = cConf.get(Constants.CFG_LOCAL_DATA_DIR);
    hConf.set(Constants.CFG_LOCAL_DATA_DIR, dataDir);
    hConf.set(Constants.AppFabric.OUTPUT_DIR, cConf.get(Constants.AppFabric.OUTPUT_DIR));
    hConf.set("hadoop.tmp.dir", dataDir + "/" + cConf.get(Constants.AppFabric.TEMP_DIR));
    injector = Guice.createInjector(CdapModules.all(cConf, hConf));
  }

  /** Print the router's port once everything answers, and return when standard input has ended. */
  public static void serve(PrintStream answers) throws Exception {
    InMemoryCdap cdap = new InMemoryCdap(configuration());
    answers.println(cdap.start());
    while (System.in.read() >= 0) {
      // nothing is said to it
    }
  }

  private static CConfiguration configuration() {
    CConfiguration cConf = CConfiguration.create();
    cConf.set(Constants.AppFabric.SPARK_COMPAT, SparkCompat.SPARK3_2_12.getCompat());
    return cConf;
  }

  private int start() throws Exception {
    start(MessagingService.class);
    start(TransactionManager.class);
    injector.getInstance(MetadataStorage.class).createIndex();
    start(MetadataService.class);
    StoreDefinition.createAllTables(injector.getInstance(StructuredTableAdmin.class));
    start(DatasetOpExecutorService.class);
    start(DatasetService.class);
    start(MetricsCollectionService.class);
    makeDefaults();
    start(MetadataSubscriberService.class);
    start(AppFabricServer.class);
    start(AppFabricProcessorService.class);
    Scheduler scheduler = start(Scheduler.class);
    if (scheduler instanceof CoreSchedulerService) {
      ((CoreSchedulerService) scheduler).waitUntilFunctional(10, TimeUnit.SECONDS);
    }
    start(LogQueryService.class);
    return start(NettyRouter.class).getBoundAddress().get().getPort();
  }

  private <T> T start(Class<T> type) {
    T service = injector.getInstance(type);
    if (service instanceof Service) {
      ((Service) service).startAndWait();
    }
    return service;
  }

  /** What a master does as itself: its own privileges, the default namespace, the native profile. */
  private void makeDefaults() throws Exception {
    String master = System.getProperty("user.name");
    SecurityRequestContext.setUserId(master);
    String instance = injector.getInstance(CConfiguration.class).get(Constants.INSTANCE_NAME);
    for (EntityId own : new EntityId[] {new InstanceId(instance), NamespaceId.DEFAULT}) {
      injector.getInstance(PermissionManager.class).grant(
          Authorizable.fromEntityId(own),
          new Principal(master, Principal.PrincipalType.USER),
          EnumSet.allOf(StandardPermission.class));
    }
    injector.getInstance(NamespaceAdmin.class).create(NamespaceMeta.DEFAULT);
    injector.getInstance(ProfileService.class).saveProfile(ProfileId.NATIVE, Profile.NATIVE);
    SecurityRequestContext.reset();
  }
}
