import torch
import torch.nn as nn
import torch.nn.functional as F


class STN(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv1, self.conv2 = nn.Conv1d(k, 32, 1), nn.Conv1d(32, 64, 1)
        self.fc1, self.fc2 = nn.Linear(64, 32), nn.Linear(32, k * k)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x)))).max(2)[0]
        x = self.fc2(F.relu(self.fc1(x)))
        return (x + torch.eye(self.k).flatten()).view(-1, self.k, self.k)


class PointNetCls(nn.Module):
    def __init__(self, num_class):
        super().__init__()
        self.stn = STN(3)
        self.conv1 = nn.Conv1d(3, 16, 1)
        self.fstn = STN(16)
        self.conv2, self.conv3 = nn.Conv1d(16, 64, 1), nn.Conv1d(64, 96, 1)
        self.fc1, self.fc2 = nn.Linear(96, 48), nn.Linear(48, num_class)

    def forward(self, x):
        x = torch.bmm(self.stn(x), x)
        x = F.relu(self.conv1(x))
        trans_feat = self.fstn(x)
        x = torch.bmm(trans_feat, x)
        x = self.conv3(F.relu(self.conv2(x))).max(2)[0]
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=-1), trans_feat


def feature_transform_regularizer(trans):
    identity = torch.eye(trans.shape[1])[None]
    return torch.mean(torch.norm(torch.bmm(trans, trans.transpose(2, 1)) - identity, dim=(1, 2)))


def make_clouds(count, seed, points=64):
    generator = torch.Generator().manual_seed(seed)
    label = torch.randint(4, (count,), generator=generator)
    raw = torch.randn(count, 3, points, generator=generator)
    sphere = F.normalize(raw, dim=1)
    cube = raw / raw.abs().amax(1, keepdim=True)
    ring = torch.cat([F.normalize(raw[:, :2], dim=1), 0.1 * raw[:, 2:]], 1)
    rod = raw * torch.tensor([0.2, 0.2, 0.8])[:, None]
    clouds = torch.stack([sphere, cube, ring, rod], 1)[torch.arange(count), label]
    turn = torch.linalg.qr(torch.randn(count, 3, 3, generator=generator))[0]
    return torch.bmm(turn, clouds) + 0.02 * torch.randn(count, 3, points, generator=generator), label


def evaluate(model, clouds, labels):
    with torch.no_grad():
        pred, trans = model(clouds)
    product = torch.bmm(trans, trans.transpose(2, 1))
    distance = (product - torch.eye(trans.shape[1])).norm(dim=(1, 2)).mean().item()
    return (pred.argmax(1) == labels).float().mean().item(), distance, torch.linalg.svdvals(trans).mean(0)


def main():
    torch.manual_seed(0)
    clouds, labels = make_clouds(960, seed=1)
    test_clouds, test_labels = make_clouds(300, seed=2)
    model = PointNetCls(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(5):
        total, penalty = 0.0, 0.0
        for rows in torch.randperm(len(clouds)).split(32):
            pred, trans_feat = model(clouds[rows])
            regularizer = feature_transform_regularizer(trans_feat)
            loss = F.nll_loss(pred, labels[rows]) + 0.1 * regularizer
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, penalty = total + loss.item() / 30, penalty + regularizer.item() / 30
        if epoch >= 1:
            accuracy, distance, svd = evaluate(model, test_clouds, test_labels)
            print(
                f"epoch {epoch + 1}: loss {total:.3f}  regularizer {penalty:.4f}  ||TT' - I|| {distance:.4f}"
                f"  singular values {svd[0]:.3f} to {svd[-1]:.3f}  accuracy {accuracy:.3f}"
            )


if __name__ == "__main__":
    main()
