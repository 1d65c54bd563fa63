export default {
  repositories: [
    {
      url: 'https://github.com/octocat/hello-world',
      forge: { kind: 'github', repositoryId: 1296269, ownerId: 583231 },
      triggers: { oidc: true },
    },
  ],
  gitTokenSecret: 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:git-token-AbCdEf',
}
