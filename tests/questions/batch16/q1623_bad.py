import torch
import torch.nn as nn


def axis_angle(w):
    theta = w.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    x, y, z = (w / theta).unbind(-1)
    o = torch.zeros_like(x)
    k = torch.stack([o, -z, y, z, o, -x, -y, x, o], dim=-1).view(-1, 3, 3)
    s, c = theta.sin()[..., None], theta.cos()[..., None]
    return torch.eye(3) + s * k + (1 - c) * (k @ k)


def transform(params, pc):
    return pc @ axis_angle(params[:, :3]).transpose(1, 2) + params[:, None, 3:]


class PCReprojLoss(nn.Module):
    def forward(self, pred, target, pcs, mask=None):
        loss = 0.0
        for i in range(len(pcs)):
            pc = pcs[i]
            if mask is not None:
                pc = pc[mask[i]]
            moved = transform(pred[i : i + 1], pc[None])
            wanted = transform(target[i : i + 1], pc[None])
            loss = loss + (moved - wanted).norm(dim=-1).mean()
        return loss / len(pcs)


def make_scans(n, points=64):
    reach = torch.linspace(0.6, 25.0, points)
    pcs = nn.functional.normalize(torch.randn(n, points, 3), dim=-1) * reach[:, None]
    mask = (torch.rand(n, points) < 0.7).long()
    pcs = torch.where(mask[..., None] == 1, pcs, 60 * torch.randn(n, points, 3))
    target = torch.cat([0.25 * torch.randn(n, 3), 0.4 * torch.randn(n, 3)], dim=1)
    return pcs, mask, target


def observe(target, markers):
    seen = transform(target, markers.expand(len(target), -1, -1)) - markers
    return (seen + 0.02 * torch.randn_like(seen)).flatten(1)


def main():
    torch.manual_seed(0)
    markers = 2 * torch.randn(8, 3)
    pcs, mask, target = make_scans(640)
    x = observe(target, markers)
    val_pcs, val_mask, val_target = make_scans(128)
    val_x = observe(val_target, markers)
    net = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 6))
    criterion = PCReprojLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(1, 9):
        total = 0.0
        for rows in torch.randperm(len(x)).split(32):
            loss = criterion(net(x[rows]), target[rows], pcs[rows], mask[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        with torch.no_grad():
            pred = net(val_x)
            gap = (transform(pred, val_pcs) - transform(val_target, val_pcs)).norm(dim=-1)
            valid = (gap * val_mask).sum() / val_mask.sum()
            turn = (pred - val_target)[:, :3].norm(dim=1).mean()
        print(
            f"epoch {epoch}: train loss {total / len(x):.3f} m  valid points off by {valid:.3f} m  "
            f"rotation off by {turn:.3f} rad"
        )


if __name__ == "__main__":
    main()
