import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_CLASSES, DIM, WAY, SHOT, QUERY = 60, 40, 5, 5, 1
centers = torch.randn(N_CLASSES, 8)
lift = torch.randn(8, DIM)


def draw(classes, k, gen):
    z = centers[classes][:, None, :] + 0.35 * torch.randn(len(classes), k, 8, generator=gen)
    return z @ lift + 1.5 * torch.randn(len(classes), k, DIM, generator=gen)


def episode(pool, gen):
    classes = pool[torch.randperm(len(pool), generator=gen)[:WAY]]
    x = draw(classes, SHOT + QUERY, gen)
    return x[:, :SHOT], x[:, SHOT:]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, x):
        return self.net(x)


def prototypical_loss(encoder, support, query):
    emb_s = encoder(support.reshape(-1, DIM)).view(WAY, SHOT, -1)
    emb_q = encoder(query.reshape(-1, DIM))
    prototypes = emb_s.mean(1)
    dists = torch.cdist(emb_q, prototypes) ** 2
    log_p = F.log_softmax(-dists, dim=1).view(WAY, QUERY, WAY)
    target_inds = torch.arange(WAY).view(WAY, 1, 1).expand(WAY, QUERY, 1)
    loss = -log_p.gather(2, target_inds).squeeze().view(-1).mean()
    _, y_hat = log_p.max(2)
    acc = y_hat.squeeze().eq(target_inds.squeeze()).float().mean()
    return loss, acc


gen = torch.Generator().manual_seed(1)
train_pool, test_pool = torch.arange(0, 40), torch.arange(40, 60)
encoder = Encoder()
opt = torch.optim.Adam(encoder.parameters(), lr=1e-3)

best_acc = 0.0
for epoch in range(10):
    encoder.train()
    losses, accs = [], []
    for _ in range(200):
        support, query = episode(train_pool, gen)
        loss, acc = prototypical_loss(encoder, support, query)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        accs.append(acc.item())
    encoder.eval()
    with torch.no_grad():
        val = [prototypical_loss(encoder, *episode(test_pool, gen))[1].item() for _ in range(200)]
    val_acc = sum(val) / len(val)
    best_acc = max(best_acc, val_acc)
    print(f"epoch {epoch} train loss {sum(losses) / 200:.4f} train acc {sum(accs) / 200:.4f} val acc {val_acc:.4f}")
print(f"best accuracy {best_acc:.4f}")
