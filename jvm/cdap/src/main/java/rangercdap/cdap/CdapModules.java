package rangercdap.cdap;

import com.google.inject.AbstractModule;
import com.google.inject.Module;
import com.google.inject.Scopes;
import com.google.inject.util.Modules;
import io.cdap.cdap.app.guice.AppFabricServiceRuntimeModule;
import io.cdap.cdap.app.guice.AuditLogWriterModule;
import io.cdap.cdap.app.guice.AuthorizationModule;
import io.cdap.cdap.app.guice.MonitorHandlerModule;
import io.cdap.cdap.app.guice.ProgramRunnerRuntimeModule;
import io.cdap.cdap.app.preview.PreviewConfigModule;
import io.cdap.cdap.app.preview.PreviewManagerModule;
import io.cdap.cdap.app.preview.PreviewRunnerManagerModule;
import io.cdap.cdap.common.conf.CConfiguration;
import io.cdap.cdap.common.conf.SConfiguration;
import io.cdap.cdap.common.guice.ConfigModule;
import io.cdap.cdap.common.guice.IOModule;
import io.cdap.cdap.common.guice.InMemoryDiscoveryModule;
import io.cdap.cdap.common.guice.LocalLocationModule;
import io.cdap.cdap.common.guice.RemoteAuthenticatorModules;
import io.cdap.cdap.common.twill.NoopTwillRunnerService;
import io.cdap.cdap.data.runtime.DataFabricModules;
import io.cdap.cdap.data.runtime.DataSetServiceModules;
import io.cdap.cdap.data.runtime.DataSetsModules;
import io.cdap.cdap.data.runtime.TransactionExecutorModule;
import io.cdap.cdap.gateway.router.RouterModules;
import io.cdap.cdap.internal.provision.MockProvisionerModule;
import io.cdap.cdap.logging.guice.LocalLogAppenderModule;
import io.cdap.cdap.logging.guice.LogQueryRuntimeModule;
import io.cdap.cdap.logging.guice.LogReaderRuntimeModules;
import io.cdap.cdap.messaging.guice.MessagingServerRuntimeModule;
import io.cdap.cdap.metadata.MetadataReaderWriterModules;
import io.cdap.cdap.metadata.MetadataServiceModule;
import io.cdap.cdap.metadata.MetadataSubscriberService;
import io.cdap.cdap.metrics.guice.MetricsClientRuntimeModule;
import io.cdap.cdap.security.auth.context.AuthenticationContextModules;
import io.cdap.cdap.security.authorization.AuthorizationEnforcementModule;
import io.cdap.cdap.security.guice.CoreSecurityRuntimeModule;
import io.cdap.cdap.security.guice.ExternalAuthenticationModule;
import io.cdap.cdap.security.guice.SecureStoreServerModule;
import org.apache.hadoop.conf.Configuration;
import org.apache.twill.api.TwillRunner;

/** CDAP's parts as its own unit tests bind them; its router and the writer of its audit log as a cluster has them. */
final class CdapModules {

  private CdapModules() {}

  static Module all(CConfiguration cConf, Configuration hConf) {
    return Modules.combine(
        new ConfigModule(cConf, hConf),
        new IOModule(),
        new LocalLocationModule(),
        new InMemoryDiscoveryModule(),
        RemoteAuthenticatorModules.getNoOpModule(),
        new DataFabricModules().getInMemoryModules(),
        new TransactionExecutorModule(),
        new DataSetsModules().getStandaloneModules(),
        new DataSetServiceModules().getInMemoryModules(),
        new MessagingServerRuntimeModule().getInMemoryModules(),
        new MetricsClientRuntimeModule().getInMemoryModules(),
        new LocalLogAppenderModule(),
        new LogReaderRuntimeModules().getInMemoryModules(),
        new LogQueryRuntimeModule().getInMemoryModules(),
        new MetadataReaderWriterModules().getInMemoryModules(),
        new MetadataServiceModule(),
        new AppFabricServiceRuntimeModule(cConf, AppFabricServiceRuntimeModule.ALL_SERVICE_TYPES).getInMemoryModules(),
        new ProgramRunnerRuntimeModule().getInMemoryModules(),
        new MockProvisionerModule(),
        new MonitorHandlerModule(false, cConf),
        new PreviewConfigModule(cConf, new Configuration(), SConfiguration.create()),
        new PreviewManagerModule(cConf, false),
        new PreviewRunnerManagerModule().getInMemoryModules(),
        new AuthenticationContextModules().getMasterModule(),
        new AuthorizationModule(),
        new AuthorizationEnforcementModule().getInMemoryModules(),
        new SecureStoreServerModule(),
        new AuditLogWriterModule(cConf).getDistributedModules(),
        new RouterModules().getInMemoryModules(),
        new CoreSecurityRuntimeModule().getInMemoryModules(),
        new ExternalAuthenticationModule(),
        new AbstractModule() {
          @Override
          protected void configure() {
            bind(TwillRunner.class).to(NoopTwillRunnerService.class);
            bind(MetadataSubscriberService.class).in(Scopes.SINGLETON);
          }
        });
  }
}
