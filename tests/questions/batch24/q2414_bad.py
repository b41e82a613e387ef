import torch
import torch.nn as nn

torch.manual_seed(6)
N_KP, N_CAM, N_TRAIN = 5, 3, 600


def cameras():
    g = torch.Generator().manual_seed(21)
    return torch.randn(N_CAM, 2, 3, generator=g) * 0.7


def frames(n, missing):
    body = torch.randn(n, 1, 3) + 0.4 * torch.randn(n, N_KP, 3)
    views = torch.einsum("vij,nkj->nvki", cameras(), body)
    views = views + 0.02 * torch.randn_like(views)
    target = body.clone()
    if missing > 0:
        gone = torch.rand(n, N_KP) < missing
        target[gone] = float("nan")
    return views.reshape(n, -1), target, body


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N_CAM * N_KP * 2, 128), nn.ReLU(),
                                 nn.Linear(128, 128), nn.ReLU(),
                                 nn.Linear(128, N_KP * 3))

    def forward(self, x):
        return self.net(x).view(-1, N_KP, 3)


class KeypointLoss(nn.Module):
    def __init__(self, weight=1.0):
        super().__init__()
        self.weight = weight

    def distances(self, target, pred):
        return torch.linalg.norm(target - pred, dim=-1)

    def forward(self, target, pred):
        dist = self.distances(target, pred)
        valid = ~torch.isnan(dist)
        if not valid.any():
            return pred.sum() * 0.0
        return self.weight * torch.masked_select(dist, valid).mean()


x_train, t_train, _ = frames(N_TRAIN, missing=0.02)
x_test, _, body_test = frames(400, missing=0.0)
model = PoseNet()
loss_fn = KeypointLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(60):
    losses = []
    for idx in torch.randperm(N_TRAIN).split(20):
        pred = model(x_train[idx])
        loss = loss_fn(t_train[idx], pred)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 10 == 9:
        with torch.no_grad():
            err = (model(x_test) - body_test).norm(dim=-1).mean().item()
        print(f"epoch {epoch + 1}  train loss {sum(losses) / len(losses):.4f}  test error {err:.4f}")

print(f"first batch loss of the last epoch {losses[0]:.4f}  final test error {err:.4f}")
