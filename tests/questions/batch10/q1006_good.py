import torch
import torch.nn as nn

torch.manual_seed(0)
H = W = 16


class FlowNet(nn.Module):
    def __init__(self, cin=6, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(cin, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 2, 1),
        )

    def forward(self, x):
        return self.net(x)


ys, xs = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")
grid = torch.stack([xs, ys]).float()
pts3d = torch.cat([grid.flatten(1), torch.ones(1, H * W)]).T
mix = torch.randn(6, 2)


def sample(n=8):
    pose = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]) + torch.randn(n, 3, 2) * torch.tensor([[0.1], [0.1], [2.0]])
    flow = (pts3d @ pose).transpose(1, 2).reshape(n, 2, H, W) - grid
    image = torch.einsum("ck,nkhw->nchw", mix, flow) / 3
    measured = flow + 1.5 + 0.3 * torch.randn_like(flow)
    valid = (torch.rand(n, 1, H, W) > 0.7).float()
    return image, measured, valid, pose


def solve_pose(pts2d):
    a = pts3d.expand(len(pts2d), -1, -1)
    return torch.linalg.solve(a.transpose(1, 2) @ a, a.transpose(1, 2) @ pts2d)


def flow_loss(flow_up, measured, valid):
    return ((flow_up - measured).abs() * valid).sum() / valid.sum()


def pose_loss(flow_up, pose):
    output = grid + flow_up
    pts2d = output.permute(0, 2, 3, 1).reshape(len(flow_up), -1, 2)
    p_out = solve_pose(pts2d)
    pts2d_gt = pts3d @ pose
    pts2d_pro = pts3d @ p_out
    return (pts2d_pro - pts2d_gt).abs().mean()


net = FlowNet()
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
for it in range(200):
    image, measured, valid, pose = sample()
    flow_up = net(image)
    l_flow = flow_loss(flow_up, measured, valid)
    l_pose = pose_loss(flow_up, pose)
    loss = 0.2 * l_flow + l_pose
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 40 == 0 or it == 199:
        print(f"it {it:3d}  flow {l_flow.item():.3f}  reprojection {l_pose.item():.3f}")
