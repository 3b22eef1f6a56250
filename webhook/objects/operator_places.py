"""
Where well-known operators' custom resources keep constraints, one line a place.

    repository [commit] folder or file where it was read
      name of the kind   group/versions   kind   resource
        path of the constraints, or of a Pod template   what the operator makes of them

`keeps`: it copies the constraints as they are written.  `fills:…`: it fills in these fields where they are absent, ""
or 0.  `sets:…`: these fields get its own values, whatever is written.  `unknown`: it was not found out.  `own:…`:
fields that the constraints have besides the API's, with each of which the operator adds labels to the selector.
A commit of `-` means that the version is not known.

LABELS_GIVEN are labels that all Pods of a kind have, one line a label: its key, then the names of the kinds.  Its
value is the name of the object, or what `=` gives.  `?` says that the object may itself give another, wherever it names
the key but in a selector.
"""

from __future__ import annotations

KEEPS, UNKNOWN, FILLS, SETS, RULE_OF_ITS_OWN = "keeps", "unknown", "fills:", "sets:", "own:"

OPERATOR_PLACES = """\
strimzi/strimzi-kafka-operator 0722320d984a api/src/main/java/io/strimzi/api/kafka/model
  strimzi-kafka kafka.strimzi.io/v1beta2,v1 Kafka kafkas
    spec.kafka.template.pod.topologySpreadConstraints keeps
    spec.zookeeper.template.pod.topologySpreadConstraints keeps
    spec.entityOperator.template.pod.topologySpreadConstraints keeps
    spec.cruiseControl.template.pod.topologySpreadConstraints keeps
    spec.kafkaExporter.template.pod.topologySpreadConstraints keeps
  strimzi-kafkanodepool kafka.strimzi.io/v1beta2,v1 KafkaNodePool kafkanodepools
    spec.template.pod.topologySpreadConstraints keeps
  strimzi-kafkaconnect kafka.strimzi.io/v1beta2,v1 KafkaConnect kafkaconnects
    spec.template.pod.topologySpreadConstraints keeps
    spec.template.buildPod.topologySpreadConstraints keeps
  strimzi-kafkamirrormaker kafka.strimzi.io/v1beta2 KafkaMirrorMaker kafkamirrormakers
    spec.template.pod.topologySpreadConstraints keeps
  strimzi-kafkamirrormaker2 kafka.strimzi.io/v1beta2,v1 KafkaMirrorMaker2 kafkamirrormaker2s
    spec.template.pod.topologySpreadConstraints keeps
  strimzi-kafkabridge kafka.strimzi.io/v1beta2,v1 KafkaBridge kafkabridges
    spec.template.pod.topologySpreadConstraints keeps
datreeio/CRDs-catalog 46701bf23b1e platform.confluent.io/kafka_v1beta1.json
  confluent-kafka platform.confluent.io/v1beta1 Kafka kafkas
    spec.podTemplate.topologySpreadConstraints unknown
datreeio/CRDs-catalog 61ee953fbfde platform.confluent.io/zookeeper_v1beta1.json
  confluent-zookeeper platform.confluent.io/v1beta1 Zookeeper zookeepers
    spec.podTemplate.topologySpreadConstraints unknown
VictoriaMetrics/operator 00215655f289 api/operator/v1beta1/vmextra_types.go
  victoriametrics-vmcluster operator.victoriametrics.com/v1beta1 VMCluster vmclusters
    spec.vminsert.topologySpreadConstraints fills:labelSelector
    spec.vmselect.topologySpreadConstraints fills:labelSelector
    spec.vmstorage.topologySpreadConstraints fills:labelSelector
    spec.requestsLoadBalancer.spec.topologySpreadConstraints unknown
  victoriametrics-vmagent operator.victoriametrics.com/v1beta1 VMAgent vmagents
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmalert operator.victoriametrics.com/v1beta1 VMAlert vmalerts
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmalertmanager operator.victoriametrics.com/v1beta1 VMAlertmanager vmalertmanagers
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmauth operator.victoriametrics.com/v1beta1 VMAuth vmauths
    spec.topologySpreadConstraints fills:labelSelector
  victoriametrics-vmsingle operator.victoriametrics.com/v1beta1 VMSingle vmsingles
    spec.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 025dffa24f71 api/operator/v1
  victoriametrics-vlcluster operator.victoriametrics.com/v1 VLCluster vlclusters
    spec.vlinsert.topologySpreadConstraints fills:labelSelector
    spec.vlselect.topologySpreadConstraints fills:labelSelector
    spec.vlstorage.topologySpreadConstraints fills:labelSelector
    spec.requestsLoadBalancer.spec.topologySpreadConstraints unknown
  victoriametrics-vtcluster operator.victoriametrics.com/v1 VTCluster vtclusters
    spec.requestsLoadBalancer.spec.topologySpreadConstraints unknown
VictoriaMetrics/operator 1ac6b7a7369a internal/controller/operator/factory/vtcluster/select.go
  victoriametrics-vtcluster operator.victoriametrics.com/v1 VTCluster vtclusters
    spec.select.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator db7084d4bc8d internal/controller/operator/factory/vtcluster/storage.go
  victoriametrics-vtcluster operator.victoriametrics.com/v1 VTCluster vtclusters
    spec.storage.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 0800758eb39f internal/controller/operator/factory/vtcluster/insert.go
  victoriametrics-vtcluster operator.victoriametrics.com/v1 VTCluster vtclusters
    spec.insert.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 032bf383c225 api/operator/v1/vtsingle_types.go
  victoriametrics-vtsingle operator.victoriametrics.com/v1 VTSingle vtsingles
    spec.topologySpreadConstraints unknown
VictoriaMetrics/operator c1b472b6a9d5 internal/controller/operator/factory/vtagent/vtagent.go
  victoriametrics-vtagent operator.victoriametrics.com/v1 VTAgent vtagents
    spec.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 77a1af0f48cb api/operator/v1/vmestimator_types.go
  victoriametrics-vmestimator operator.victoriametrics.com/v1 VMEstimator vmestimators
    spec.single.topologySpreadConstraints fills:labelSelector
    spec.storage.topologySpreadConstraints fills:labelSelector
    spec.select.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator 16e3c3f37a13 internal/controller/operator/factory/vmanomaly/pod.go
  victoriametrics-vmanomaly operator.victoriametrics.com/v1 VMAnomaly vmanomalies
    spec.topologySpreadConstraints fills:labelSelector
VictoriaMetrics/operator - api/operator/v1
  victoriametrics-vlagent operator.victoriametrics.com/v1 VLAgent vlagents
    spec.topologySpreadConstraints unknown
  victoriametrics-vlsingle operator.victoriametrics.com/v1 VLSingle vlsingles
    spec.topologySpreadConstraints unknown
cloudnative-pg/cloudnative-pg 78b3ecc2e4fd api/v1
  cnpg-cluster postgresql.cnpg.io/v1 Cluster clusters
    spec.topologySpreadConstraints keeps
cloudnative-pg/cloudnative-pg 04a7b7deecab pkg/specs/pgbouncer/deployments.go
  cnpg-pooler postgresql.cnpg.io/v1 Pooler poolers
    spec.template keeps
CrunchyData/postgres-operator 91398e44dee5 pkg/apis/postgres-operator.crunchydata.com/v1beta1
  crunchy-postgrescluster postgres-operator.crunchydata.com/v1beta1 PostgresCluster postgresclusters
    spec.instances[*].topologySpreadConstraints keeps
    spec.proxy.pgBouncer.topologySpreadConstraints keeps
    spec.backups.pgbackrest.repoHost.topologySpreadConstraints keeps
CrunchyData/postgres-operator 0156a8a6ca9b internal/controller/postgrescluster/pgadmin.go
  crunchy-postgrescluster postgres-operator.crunchydata.com/v1beta1 PostgresCluster postgresclusters
    spec.userInterface.pgAdmin.topologySpreadConstraints keeps
zalando/postgres-operator - pkg/apis/acid.zalan.do/v1/postgresql_type.go
  zalando-postgresql acid.zalan.do/v1 postgresql postgresqls
    spec.topologySpreadConstraints unknown
percona/percona-xtradb-cluster-operator - pkg/apis/pxc/v1/pxc_types.go
  percona-xtradbcluster pxc.percona.com/v1 PerconaXtraDBCluster perconaxtradbclusters
    spec.pxc.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.haproxy.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.proxysql.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.backup.storages{*}.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
percona/percona-server-mongodb-operator c3e27599b7fa pkg/apis/psmdb/v1
  percona-servermongodb psmdb.percona.com/v1 PerconaServerMongoDB perconaservermongodbs
    spec.replsets[*].topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.sharding.configsvrReplSet.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.sharding.mongos.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
percona/percona-server-mongodb-operator - pkg/apis/psmdb/v1/psmdb_defaults.go
  percona-servermongodb psmdb.percona.com/v1 PerconaServerMongoDB perconaservermongodbs
    spec.replsets[*].nonvoting.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
    spec.replsets[*].hidden.topologySpreadConstraints fills:labelSelector,maxSkew,topologyKey,whenUnsatisfiable
percona/percona-server-mysql-operator 00b4293377ef api/v1/perconaservermysql_types.go
  percona-servermysql ps.percona.com/v1 PerconaServerMySQL perconaservermysqls
    spec.mysql.topologySpreadConstraints fills:labelSelector
    spec.orchestrator.topologySpreadConstraints fills:labelSelector
    spec.proxy.haproxy.topologySpreadConstraints fills:labelSelector
    spec.proxy.router.topologySpreadConstraints fills:labelSelector
    spec.backup.pitr.binlogServer.topologySpreadConstraints unknown
    spec.backup.storages{*}.topologySpreadConstraints unknown
percona/percona-postgresql-operator 05e8b7d2ce87 internal/controller/postgrescluster/pgbouncer.go
  percona-pgcluster pgv2.percona.com/v2 PerconaPGCluster perconapgclusters
    spec.proxy.pgBouncer.topologySpreadConstraints keeps
percona/percona-postgresql-operator 018718a775e9 pkg/apis/pgv2.percona.com/v2/perconapgcluster_types.go
  percona-pgcluster pgv2.percona.com/v2 PerconaPGCluster perconapgclusters
    spec.instances[*].topologySpreadConstraints keeps
    spec.backups.pgbackrest.repoHost.topologySpreadConstraints unknown
rook/rook - pkg/apis/ceph.rook.io/v1/types.go
  rook-cephcluster ceph.rook.io/v1 CephCluster cephclusters
    spec.placement{*}.topologySpreadConstraints keeps
    spec.storage.storageClassDeviceSets[*].placement.topologySpreadConstraints keeps
    spec.storage.storageClassDeviceSets[*].preparePlacement.topologySpreadConstraints keeps
rook/rook - Documentation/CRDs/Object-Storage/ceph-object-store-crd.md
  rook-cephobjectstore ceph.rook.io/v1 CephObjectStore cephobjectstores
    spec.gateway.placement.topologySpreadConstraints keeps
rook/rook - Documentation/CRDs/Shared-Filesystem/ceph-filesystem-crd.md
  rook-cephfilesystem ceph.rook.io/v1 CephFilesystem cephfilesystems
    spec.metadataServer.placement.topologySpreadConstraints keeps
rook/rook 804c418fe440 pkg/apis/ceph.rook.io/v1/placement.go
  rook-cephnfs ceph.rook.io/v1 CephNFS cephnfses
    spec.server.placement.topologySpreadConstraints keeps
  rook-cephrbdmirror ceph.rook.io/v1 CephRBDMirror cephrbdmirrors
    spec.placement.topologySpreadConstraints keeps
  rook-cephfilesystemmirror ceph.rook.io/v1 CephFilesystemMirror cephfilesystemmirrors
    spec.placement.topologySpreadConstraints keeps
dragonflydb/dragonfly-operator - api/v1alpha1/dragonfly_types.go
  dragonfly dragonflydb.io/v1alpha1 Dragonfly dragonflies
    spec.topologySpreadConstraints keeps
spotahome/redis-operator 04333bc9f7e7 api/redisfailover/v1/types.go
  redisfailover databases.spotahome.com/v1 RedisFailover redisfailovers
    spec.redis.topologySpreadConstraints keeps
    spec.sentinel.topologySpreadConstraints keeps
OT-CONTAINER-KIT/redis-operator 01a290557d10 internal/k8sutils/statefulset.go
  redis-rediscluster redis.redis.opstreelabs.in/v1beta2 RedisCluster redisclusters
    spec.redisLeader.topologySpreadConstraints keeps
    spec.redisFollower.topologySpreadConstraints keeps
OT-CONTAINER-KIT/redis-operator - internal/k8sutils/redis-replication.go
  redis-redisreplication redis.redis.opstreelabs.in/v1beta2 RedisReplication redisreplications
    spec.topologySpreadConstraints keeps
OT-CONTAINER-KIT/redis-operator - internal/k8sutils/redis-sentinel.go
  redis-redissentinel redis.redis.opstreelabs.in/v1beta2 RedisSentinel redissentinels
    spec.topologySpreadConstraints keeps
kubevirt/kubevirt b6f4e92e72df staging/src/kubevirt.io/api
  kubevirt-virtualmachine kubevirt.io/v1 VirtualMachine virtualmachines
    spec.template.spec.topologySpreadConstraints keeps
  kubevirt-virtualmachineinstance kubevirt.io/v1 VirtualMachineInstance virtualmachineinstances
    spec.topologySpreadConstraints keeps
  kubevirt-virtualmachinepool pool.kubevirt.io/v1alpha1,v1beta1 VirtualMachinePool virtualmachinepools
    spec.virtualMachineTemplate.spec.template.spec.topologySpreadConstraints keeps
prometheus-operator/prometheus-operator 035b6071001a pkg/apis/monitoring
  prometheus monitoring.coreos.com/v1 Prometheus prometheuses
    spec.topologySpreadConstraints keeps own:additionalLabelSelectors
  prometheusagent monitoring.coreos.com/v1alpha1 PrometheusAgent prometheusagents
    spec.topologySpreadConstraints keeps own:additionalLabelSelectors
  alertmanager monitoring.coreos.com/v1 Alertmanager alertmanagers
    spec.topologySpreadConstraints keeps
  thanosruler monitoring.coreos.com/v1 ThanosRuler thanosrulers
    spec.topologySpreadConstraints keeps
tektoncd/operator - pkg/reconciler/common
  tektonconfig operator.tekton.dev/v1alpha1 TektonConfig tektonconfigs
    spec.pipeline.options.deployments{*}.spec.template keeps
    spec.hub.options.deployments{*}.spec.template keeps
    spec.result.options.deployments{*}.spec.template keeps
    spec.trigger.options.deployments{*}.spec.template keeps
    spec.trigger.options.statefulSets{*}.spec.template keeps
    spec.result.options.statefulSets{*}.spec.template keeps
  tektontrigger operator.tekton.dev/v1alpha1 TektonTrigger tektontriggers
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
  tektonresult operator.tekton.dev/v1alpha1 TektonResult tektonresults
    spec.options.deployments{*}.spec.template keeps
    spec.options.statefulSets{*}.spec.template keeps
tektoncd/pipeline 7384a67b77c0 pkg/pod/pod.go
  tekton-taskrun tekton.dev/v1beta1,v1 TaskRun taskruns
    spec.podTemplate.topologySpreadConstraints keeps
  tekton-pipelinerun tekton.dev/v1 PipelineRun pipelineruns
    spec.taskRunTemplate.podTemplate.topologySpreadConstraints keeps
envoyproxy/gateway 006c6ae6efe6 api/v1alpha1/shared_types.go
  envoyproxy gateway.envoyproxy.io/v1alpha1 EnvoyProxy envoyproxies
    spec.provider.kubernetes.envoyDeployment.pod.topologySpreadConstraints keeps
envoyproxy/gateway 00ec57c29543 internal/infrastructure/kubernetes/proxy/resource_provider.go
  envoyproxy gateway.envoyproxy.io/v1alpha1 EnvoyProxy envoyproxies
    spec.provider.kubernetes.envoyDaemonSet.pod.topologySpreadConstraints keeps
elastic/cloud-on-k8s 005d417bd36b pkg/apis
  elastic-elasticsearch elasticsearch.k8s.elastic.co/v1 Elasticsearch elasticsearches
    spec.nodeSets[*].podTemplate keeps
  elastic-beat beat.k8s.elastic.co/v1beta1 Beat beats
    spec.deployment.podTemplate keeps
    spec.daemonSet.podTemplate keeps
  elastic-kibana kibana.k8s.elastic.co/v1 Kibana kibanas
    spec.podTemplate keeps
  elastic-logstash logstash.k8s.elastic.co/v1alpha1 Logstash logstashes
    spec.podTemplate keeps
elastic/cloud-on-k8s 0449f62a751e pkg/apis/agent/v1alpha1/agent_types.go
  elastic-agent agent.k8s.elastic.co/v1alpha1 Agent agents
    spec.deployment.podTemplate keeps
    spec.daemonSet.podTemplate keeps
    spec.statefulSet.podTemplate keeps
elastic/cloud-on-k8s 04b538d34076 pkg/apis/apm/v1/apmserver_types.go
  elastic-apmserver apm.k8s.elastic.co/v1 ApmServer apmservers
    spec.podTemplate keeps
elastic/cloud-on-k8s 060d55be656f pkg/apis/enterprisesearch/v1/enterprisesearch_types.go
  elastic-enterprisesearch enterprisesearch.k8s.elastic.co/v1 EnterpriseSearch enterprisesearches
    spec.podTemplate keeps
elastic/cloud-on-k8s 094a1a9401bc pkg/apis/maps/v1alpha1/maps_types.go
  elastic-mapsserver maps.k8s.elastic.co/v1alpha1 ElasticMapsServer elasticmapsservers
    spec.podTemplate keeps
open-telemetry/opentelemetry-operator 01416c28a436 apis/v1beta1/common.go
  opentelemetry-collector opentelemetry.io/v1alpha1,v1beta1 OpenTelemetryCollector opentelemetrycollectors
    spec.topologySpreadConstraints keeps
open-telemetry/opentelemetry-operator 15a5161f1730 internal/manifests/targetallocator/deployment.go
  opentelemetry-collector opentelemetry.io/v1alpha1,v1beta1 OpenTelemetryCollector opentelemetrycollectors
    spec.targetAllocator.topologySpreadConstraints keeps
open-telemetry/opentelemetry-operator 309a0e0caafb internal/manifests/targetallocator/deployment.go
  opentelemetry-targetallocator opentelemetry.io/v1alpha1 TargetAllocator targetallocators
    spec.topologySpreadConstraints keeps
ray-project/kuberay - ray-operator/controllers/ray
  ray-raycluster ray.io/v1alpha1,v1 RayCluster rayclusters
    spec.headGroupSpec.template keeps
    spec.workerGroupSpecs[*].template keeps
  ray-rayjob ray.io/v1alpha1,v1 RayJob rayjobs
    spec.rayClusterSpec.headGroupSpec.template keeps
    spec.rayClusterSpec.workerGroupSpecs[*].template keeps
    spec.submitterPodTemplate keeps
  ray-rayservice ray.io/v1alpha1,v1 RayService rayservices
    spec.rayClusterConfig.headGroupSpec.template keeps
    spec.rayClusterConfig.workerGroupSpecs[*].template keeps
knative/serving - pkg/reconciler/revision/resources/deploy.go
  knative-service serving.knative.dev/v1 Service services
    spec.template keeps
  knative-configuration serving.knative.dev/v1 Configuration configurations
    spec.template keeps
knative/operator 9f4b20a194c6 pkg/reconciler/common/workload_override.go
  knative-knativeserving operator.knative.dev/v1beta1 KnativeServing knativeservings
    spec.deployments[*].topologySpreadConstraints keeps
    spec.workloads[*].topologySpreadConstraints keeps
  knative-knativeeventing operator.knative.dev/v1beta1 KnativeEventing knativeeventings
    spec.deployments[*].topologySpreadConstraints keeps
    spec.workloads[*].topologySpreadConstraints keeps
mariadb-operator/mariadb-operator - api/v1alpha1
  mariadb k8s.mariadb.com/v1alpha1 MariaDB mariadbs
    spec.topologySpreadConstraints keeps
mariadb-operator/mariadb-operator 583d2bf3ffd6 api/v1alpha1/maxscale_types.go
  mariadb-maxscale k8s.mariadb.com/v1alpha1 MaxScale maxscales
    spec.topologySpreadConstraints keeps
minio/operator - pkg/apis/minio.min.io/v2/types.go
  minio-tenant minio.min.io/v2 Tenant tenants
    spec.pools[*].topologySpreadConstraints keeps
apache/solr-operator c8220e96d237 api/v1beta1/common_types.go
  solr-solrcloud solr.apache.org/v1beta1 SolrCloud solrclouds
    spec.customSolrKubeOptions.podOptions.topologySpreadConstraints fills:labelSelector
  solr-prometheusexporter solr.apache.org/v1beta1 SolrPrometheusExporter solrprometheusexporters
    spec.customKubeOptions.podOptions.topologySpreadConstraints fills:labelSelector
opensearch-project/opensearch-k8s-operator 001ce3dbd8a3 opensearch-operator/pkg/builders/cluster.go
  opensearch-opster-cluster opensearch.opster.io/v1 OpenSearchCluster opensearchclusters
    spec.nodePools[*].topologySpreadConstraints keeps
opensearch-project/opensearch-k8s-operator 00808835fcd5 opensearch-operator/api/opensearch.org/v1/opensearch_types.go
  opensearch-cluster opensearch.org/v1 OpenSearchCluster opensearchclusters
    spec.nodePools[*].topologySpreadConstraints unknown
    spec.dashboards.topologySpreadConstraints unknown
keycloak/keycloak 0064e060fc5d operator/src/main/java/org/keycloak/operator
  keycloak k8s.keycloak.org/v2alpha1 Keycloak keycloaks
    spec.scheduling.topologySpreadConstraints keeps
    spec.unsupported.podTemplate keeps
rabbitmq/cluster-operator 039848e02910 api/v1beta1/rabbitmqcluster_types.go
  rabbitmq-cluster rabbitmq.com/v1beta1 RabbitmqCluster rabbitmqclusters
    spec.override.statefulSet.spec.template unknown
mongodb/mongodb-kubernetes-operator 025b8f85fa08 api/v1/mongodbcommunity_types.go
  mongodb-community mongodbcommunity.mongodb.com/v1 MongoDBCommunity mongodbcommunity
    spec.statefulSet.spec.template unknown
Altinity/clickhouse-operator - pkg/apis/clickhouse.altinity.com/v1
  clickhouse-installation clickhouse.altinity.com/v1 ClickHouseInstallation clickhouseinstallations
    spec.templates.podTemplates[*] unknown
k8ssandra/cass-operator - pkg/reconciliation/construct_podtemplatespec.go
  cassandra-datacenter cassandra.datastax.com/v1beta1 CassandraDatacenter cassandradatacenters
    spec.podTemplateSpec keeps
mysql/mysql-operator 02d86fd7e895 helm/mysql-operator/crds/crd.yaml
  mysql-innodbcluster mysql.oracle.com/v2 InnoDBCluster innodbclusters
    spec.podSpec.topologySpreadConstraints unknown
    spec.router.podSpec.topologySpreadConstraints unknown
grafana/grafana-operator - controllers/reconcilers/grafana/deployment_reconciler.go
  grafana grafana.integreatly.org/v1beta1 Grafana grafanas
    spec.deployment.spec.template keeps
apache/flink-kubernetes-operator 225dc39d967a flink-kubernetes-operator-api/src/main/java
  flink-deployment flink.apache.org/v1beta1 FlinkDeployment flinkdeployments
    spec.podTemplate unknown
    spec.jobManager.podTemplate unknown
    spec.taskManager.podTemplate unknown
kubeflow/spark-operator 420a2485eecd api/v1beta2/sparkapplication_types.go
  spark-application sparkoperator.k8s.io/v1beta2 SparkApplication sparkapplications
    spec.driver.template unknown
    spec.executor.template unknown
kserve/kserve 0217bdabaaa2 pkg/apis/serving/v1beta1
  kserve-inferenceservice serving.kserve.io/v1beta1 InferenceService inferenceservices
    spec.predictor.topologySpreadConstraints unknown
    spec.predictor.workerSpec.topologySpreadConstraints unknown
    spec.transformer.topologySpreadConstraints unknown
kubeflow/training-operator - pkg/controller.v1
  kubeflow-pytorchjob kubeflow.org/v1 PyTorchJob pytorchjobs
    spec.pytorchReplicaSpecs{*}.template keeps
  kubeflow-tfjob kubeflow.org/v1 TFJob tfjobs
    spec.tfReplicaSpecs{*}.template keeps
  kubeflow-xgboostjob kubeflow.org/v1 XGBoostJob xgboostjobs
    spec.xgbReplicaSpecs{*}.template keeps
kubeflow/training-operator 5fa872ff10ed pkg/apis/kubeflow.org/v1/mpi_types.go
  kubeflow-mpijob kubeflow.org/v1 MPIJob mpijobs
    spec.mpiReplicaSpecs{*}.template unknown
kubeflow/kubeflow - components/notebook-controller/controllers/notebook_controller.go
  kubeflow-notebook kubeflow.org/v1 Notebook notebooks
    spec.template keeps
kubernetes-sigs/jobset - pkg/controllers/jobset_controller.go
  jobset jobset.x-k8s.io/v1alpha2 JobSet jobsets
    spec.replicatedJobs[*].template.spec.template keeps
kedacore/keda 7f17c10c98ce pkg/scaling/executor/scale_jobs.go
  keda-scaledjob keda.sh/v1alpha1 ScaledJob scaledjobs
    spec.jobTargetRef.template keeps
volcano-sh/volcano - pkg/controllers/job/job_controller_util.go
  volcano-job batch.volcano.sh/v1alpha1 Job jobs
    spec.tasks[*].template keeps
actions/actions-runner-controller - controllers/actions.github.com/resourcebuilder.go
  actions-autoscalingrunnerset actions.github.com/v1alpha1 AutoscalingRunnerSet autoscalingrunnersets
    spec.template keeps
    spec.listenerTemplate keeps
crossplane/crossplane - internal/controller/pkg/revision
  crossplane-deploymentruntimeconfig pkg.crossplane.io/v1beta1 DeploymentRuntimeConfig deploymentruntimeconfigs
    spec.deploymentTemplate.spec.template keeps
Kong/kong-operator 0e3cf26f457d api/gateway-operator/v1beta1/dataplane_types.go
  kong-dataplane gateway-operator.konghq.com/v1beta1 DataPlane dataplanes
    spec.deployment.podTemplateSpec unknown
nginx/nginx-gateway-fabric - internal/controller/provisioner/objects.go
  nginxproxy gateway.nginx.org/v1alpha2 NginxProxy nginxproxies
    spec.kubernetes.deployment.pod.topologySpreadConstraints keeps
    spec.kubernetes.daemonSet.pod.topologySpreadConstraints keeps
tigera/operator 10958d1eecef api/v1/typha_deployment_types.go
  calico-installation operator.tigera.io/v1 Installation installations
    spec.typhaDeployment.spec.template.spec.topologySpreadConstraints keeps
tigera/operator 00b4f64fd1a4 api/v1/apiserver_types.go
  calico-apiserver operator.tigera.io/v1 APIServer apiservers
    spec.apiServerDeployment.spec.template.spec.topologySpreadConstraints keeps
actions/actions-runner-controller - controllers/actions.summerwind.net/runner_controller.go
  actions-runner actions.summerwind.dev/v1alpha1 Runner runners
    spec.topologySpreadConstraints keeps
  actions-runnerdeployment actions.summerwind.dev/v1alpha1 RunnerDeployment runnerdeployments
    spec.template.spec.topologySpreadConstraints keeps
cockroachdb/cockroach-operator - pkg/resource/statefulset.go
  cockroachdb-crdbcluster crdb.cockroachlabs.com/v1alpha1 CrdbCluster crdbclusters
    spec.topologySpreadConstraints keeps
DataDog/datadog-operator - internal/controller/datadogagent/override/podtemplatespec.go
  datadog-agent datadoghq.com/v2alpha1 DatadogAgent datadogagents
    spec.override{*}.topologySpreadConstraints keeps
datainfrahq/druid-operator - controllers/druid/handler.go
  druid druid.apache.org/v1alpha1 Druid druids
    spec.nodes{*}.topologySpreadConstraints keeps
emqx/emqx-operator - controllers/apps/v2beta1/add_emqx_core.go
  emqx apps.emqx.io/v2beta1 EMQX emqxes
    spec.coreTemplate.spec.topologySpreadConstraints keeps
grafana/agent - pkg/operator/resources_pod_template.go
  grafana-agent monitoring.grafana.com/v1alpha1 GrafanaAgent grafanaagents
    spec.topologySpreadConstraints keeps
kube-logging/logging-operator - pkg/resources/fluentd/statefulset.go
  logging logging.banzaicloud.io/v1beta1 Logging loggings
    spec.fluentd.topologySpreadConstraints keeps
kubernetes-sigs/lws - pkg/controllers
  leaderworkerset leaderworkerset.x-k8s.io/v1 LeaderWorkerSet leaderworkersets
    spec.leaderWorkerTemplate.leaderTemplate keeps
    spec.leaderWorkerTemplate.workerTemplate keeps
openshift/cluster-image-registry-operator - pkg/resource/podtemplatespec.go
  openshift-imageregistry imageregistry.operator.openshift.io/v1 Config configs
    spec.topologySpreadConstraints keeps
pingcap/tidb-operator 25df93d95f4e pkg/apis/pingcap/v1alpha1/component_spec.go
  tidb-cluster pingcap.com/v1alpha1 TidbCluster tidbclusters
    spec.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.pd.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.tidb.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.tikv.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.tiflash.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.tiproxy.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.ticdc.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
    spec.pump.topologySpreadConstraints sets:labelSelector,maxSkew,whenUnsatisfiable
"""

LABELS_GIVEN = """\
strimzi.io/cluster strimzi-kafka strimzi-kafkaconnect strimzi-kafkabridge
strimzi.io/cluster strimzi-kafkamirrormaker strimzi-kafkamirrormaker2
strimzi.io/pool-name strimzi-kafkanodepool
app? confluent-kafka confluent-zookeeper
app.kubernetes.io/instance victoriametrics-vmcluster victoriametrics-vmagent victoriametrics-vmalert
app.kubernetes.io/instance victoriametrics-vmalertmanager victoriametrics-vmauth victoriametrics-vmsingle
app.kubernetes.io/instance victoriametrics-vlcluster victoriametrics-vlagent victoriametrics-vlsingle
app.kubernetes.io/instance victoriametrics-vtcluster victoriametrics-vtsingle victoriametrics-vmanomaly
cnpg.io/cluster? cnpg-cluster
app dragonfly
redisfailovers.databases.spotahome.com/name? redisfailover
app.kubernetes.io/name redisfailover
app.kubernetes.io/instance? cockroachdb-crdbcluster
app.kubernetes.io/component?=database cockroachdb-crdbcluster
"""
