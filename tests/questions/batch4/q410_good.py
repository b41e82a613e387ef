import torch
from torch import nn

torch.manual_seed(0)


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, features):
        return self.net(features)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, features, alpha):
        return self.net(GradReverse.apply(features, alpha))


centres = torch.randn(8, 20)
source_y = torch.randint(0, 8, (1024,))
source_x = centres[source_y] + 0.6 * torch.randn(1024, 20)
target_y = torch.randint(0, 8, (1024,))
target_x = centres[target_y] + 0.6 * torch.randn(1024, 20) + 0.4

encoder, classifier, discriminator = Extractor(), Classifier(), Discriminator()
criterion = nn.CrossEntropyLoss()
params = [*encoder.parameters(), *classifier.parameters(), *discriminator.parameters()]
optimizer = torch.optim.SGD(params, lr=0.01, momentum=0.9)
epochs = 10
for epoch in range(epochs):
    total_class = total_domain = 0.0
    for step, idx in enumerate(torch.randperm(1024).split(64)):
        alpha = 0.2 * (epoch * 16 + step) / (epochs * 16)
        jdx = torch.randint(0, 1024, (64,))
        source_feature = encoder(source_x[idx])
        target_feature = encoder(target_x[jdx])
        class_loss = criterion(classifier(source_feature), source_y[idx])
        domain_pred = discriminator(torch.cat([source_feature, target_feature]), alpha)
        domain_label = torch.cat([torch.zeros(64), torch.ones(64)]).long()
        domain_loss = criterion(domain_pred, domain_label)
        loss = class_loss + domain_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_class += class_loss.item()
        total_domain += domain_loss.item()
    with torch.no_grad():
        accuracy = (classifier(encoder(target_x)).argmax(1) == target_y).float().mean()
    print(
        f"epoch {epoch}: class {total_class / 16:.4f}, domain {total_domain / 16:.4f}, target accuracy {accuracy:.3f}"
    )
