// The hook: verifies signed/ of the commit that is synced, before it is. It lies in the exceptions' repository, as presync/verify.jsonnet,
// because Argo CD tells the commit to what comes from the same source alone. Protect it as you protect the workflows.
function(revision) {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: {
    name: 'polex-verify',
    namespace: 'exceptions-presync',
    annotations: {
      'argocd.argoproj.io/hook': 'PreSync',
      'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',  // its log stays until the next sync
    },
  },
  spec: {
    backoffLimit: 0,
    activeDeadlineSeconds: 300,
    template: { spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65532,
        runAsGroup: 65532,
        fsGroup: 65532,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      local restricted = {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
      local resources = {
        requests: { cpu: '10m', memory: '64Mi' },
        limits: { memory: '256Mi' },
      },
      // The image for CI has git.
      initContainers: [{
        name: 'clone',
        image: 'ghcr.io/polex-dev/polex@sha256:<digest>',
        command: ['git', 'clone', '--quiet', '--bare', '--no-tags', '--single-branch', '--branch=main', 'https://github.com/acme/exceptions', '/repository/exceptions.git'],
        env: [{ name: 'HOME', value: '/repository' }],
        securityContext: restricted,
        resources: resources,
        volumeMounts: [{ name: 'repository', mountPath: '/repository' }],
      }],
      containers: [{
        name: 'verify',
        image: 'ghcr.io/polex-dev/polex-verify@sha256:<digest>',
        command: ['/usr/local/bin/polex-verify'],
        args: ['--config=/etc/polex/trust.yaml', '--only-exceptions', '--git=/repository/exceptions.git', '--ref=' + revision],
        terminationMessagePolicy: 'FallbackToLogsOnError',  // the reason is in the Pod's status
        securityContext: restricted,
        resources: resources,
        volumeMounts: [
          { name: 'repository', mountPath: '/repository', readOnly: true },
          { name: 'trust', mountPath: '/etc/polex', readOnly: true },
        ],
      }],
      volumes: [
        { name: 'repository', emptyDir: { sizeLimit: '1Gi' } },
        { name: 'trust', configMap: { name: 'polex-trust' } },  // of the cluster, not of the repository
      ],
    } },
  },
}
