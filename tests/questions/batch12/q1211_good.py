import torch
import torch.nn as nn


def grid_mesh(n):
    axis = torch.linspace(-1, 1, n)
    xs, ys = torch.meshgrid(axis, axis, indexing="ij")
    verts = torch.stack([xs.flatten(), ys.flatten(), torch.zeros(n * n)], dim=1)
    faces = []
    for i in range(n - 1):
        for j in range(n - 1):
            a, b, c, d = i * n + j, i * n + j + 1, (i + 1) * n + j, (i + 1) * n + j + 1
            faces += [(a, b, c), (b, d, c)]
    return verts, torch.tensor(faces)


def inner_edges(faces):
    """For every edge with two faces: its two vertices and the two vertices opposite to it."""
    opposite = {}
    for f in faces.tolist():
        for k in range(3):
            edge = tuple(sorted((f[k], f[(k + 1) % 3])))
            opposite.setdefault(edge, []).append(f[(k + 2) % 3])
    return torch.tensor([[*edge, *opp] for edge, opp in opposite.items() if len(opp) == 2])


def flatness(verts, edges, eps=1e-6):
    """Bends along an edge: zero where the two faces lie in one plane."""
    v0, v1, v2, v3 = (verts[edges[:, k]] for k in range(4))
    along = v1 - v0
    n1 = torch.linalg.cross(along, v2 - v0, dim=1)
    n2 = torch.linalg.cross(v3 - v0, along, dim=1)
    cos = (n1 * n2).sum(1) / (n1.pow(2).sum(1) * n2.pow(2).sum(1)).clamp(min=eps).sqrt()
    sin = torch.sqrt((1 - cos.pow(2)).clamp(min=0) + eps)
    return sin.mean()


class Deformer(nn.Module):
    def __init__(self, points, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hidden), nn.ReLU(), nn.Linear(hidden, points * 3))
        nn.init.zeros_(self.net[2].weight)
        nn.init.zeros_(self.net[2].bias)

    def forward(self, code):
        return self.net(code).view(-1, 3)


def main():
    torch.manual_seed(0)
    template, faces = grid_mesh(9)
    edges = inner_edges(faces)
    model = Deformer(len(template))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    codes = torch.rand(16, 3)
    for step in range(201):
        code = codes[step % len(codes)]
        height = code[0] * torch.sin(3 * template[:, 0]) + code[1] * template[:, 1] ** 2
        target = torch.stack([template[:, 0], template[:, 1], 0.5 * height], dim=1)
        verts = template + model(code)
        distance = (verts - target).pow(2).sum(1).mean()
        bend = flatness(verts, edges)
        loss = distance + 0.01 * bend
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step}: distance {distance.item():.4f}  bend {bend.item():.4f}")


if __name__ == "__main__":
    main()
