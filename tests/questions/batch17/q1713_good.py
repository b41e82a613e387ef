import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
nb_classes, sz_embedding = 30, 16


class ProxyNCA(nn.Module):
    def __init__(self, nb_classes, sz_embed, softmax_scale=12.0):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(nb_classes, sz_embed) / 8)
        self.scale = softmax_scale

    def forward(self, embeddings, labels):
        x, p = F.normalize(embeddings, dim=1), F.normalize(self.proxies, dim=1)
        return F.cross_entropy(-self.scale * torch.cdist(x, p).pow(2), labels)


class ProxyAnchor(nn.Module):
    def __init__(self, nb_classes, sz_embed, mrg=0.1, alpha=12.0):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(nb_classes, sz_embed))
        self.mrg, self.alpha, self.nb_classes = mrg, alpha, nb_classes

    def forward(self, embeddings, labels):
        cos = F.linear(F.normalize(embeddings, dim=1), F.normalize(self.proxies, dim=1))
        one_hot = F.one_hot(labels, self.nb_classes).bool()
        pos = torch.exp(-self.alpha * (cos - self.mrg)).masked_fill(~one_hot, 0).sum(0)
        neg = torch.exp(self.alpha * (cos + self.mrg)).masked_fill(one_hot, 0).sum(0)
        return torch.log1p(pos)[one_hot.any(0)].mean() + torch.log1p(neg).mean()


groups = 2.0 * torch.randn(6, 24)
class_means = groups[torch.arange(nb_classes) % 6] + 0.7 * torch.randn(nb_classes, 24)


def load_batch(n=90):
    labels = torch.randint(0, nb_classes, (n,))
    return class_means[labels] + 0.5 * torch.randn(n, 24), labels


def train(loss_name):
    model = nn.Linear(24, sz_embedding)
    if loss_name == "Proxy_Anchor":
        criterion = ProxyAnchor(nb_classes, sz_embedding)
    elif loss_name == "Proxy_NCA":
        criterion = ProxyNCA(nb_classes, sz_embedding)

    param_groups = [{"params": model.parameters(), "lr": 2e-3}]
    if loss_name in ("Proxy_Anchor", "Proxy_NCA"):
        param_groups.append({"params": criterion.proxies, "lr": 2e-2})
    opt = torch.optim.AdamW(param_groups, weight_decay=1e-4)

    start = criterion.proxies.detach().clone()
    for _ in range(400):
        x, y = load_batch()
        loss = criterion(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()

    torch.manual_seed(7)
    with torch.no_grad():
        x, y = load_batch(1500)
        similarity = F.normalize(model(x), dim=1) @ F.normalize(model(x), dim=1).t()
        recall = (y[similarity.fill_diagonal_(-2).argmax(1)] == y).float().mean().item()
    shift = (criterion.proxies - start).norm().item()
    print(f"{loss_name}: loss {loss.item():.3f}  Recall@1 {recall:.3f}  movement of the proxies {shift:.3f}")


for name in ("Proxy_Anchor", "Proxy_NCA"):
    torch.manual_seed(1)
    train(name)
