import torch
import torch.nn.functional as F

torch.manual_seed(2)

img_size = 64
width = 0.3


def draw_target(cx, cy, colour):
    canvas = torch.ones(3, img_size, img_size)
    half = int(width * img_size / 2)
    px, py = int(cx * img_size), int(cy * img_size)
    canvas[:, px - half:px + half, py - half:py + half] = colour.view(3, 1, 1)
    return canvas


def draw_square(x_center, y_center, colour):
    zero = torch.zeros(1)
    scale = torch.full((1,), 1 / width)
    row0 = torch.cat([scale, zero, -(2 * y_center - 1) / width])
    row1 = torch.cat([zero, scale, -(2 * x_center - 1) / width])
    theta = torch.stack([row0, row1]).unsqueeze(0)
    grid = F.affine_grid(theta, (1, 1, img_size, img_size), align_corners=False)
    cover = F.grid_sample(torch.ones(1, 1, 16, 16), grid, align_corners=False)[0]
    return cover * colour.view(3, 1, 1) + (1 - cover)


target = draw_target(0.62, 0.55, torch.tensor([0.1, 0.3, 0.2]))

x_center = torch.tensor([0.45], requires_grad=True)
y_center = torch.tensor([0.40], requires_grad=True)
colour = torch.full((3,), 0.5, requires_grad=True)
optimizer = torch.optim.Adam([x_center, y_center, colour], lr=5e-3)

for step in range(1500):
    optimizer.zero_grad()
    img = draw_square(x_center, y_center, colour)
    loss = F.mse_loss(img, target)
    loss.backward()
    optimizer.step()
    if step % 300 == 0:
        print(f"step {step:4d} loss {loss.item():.5f} "
              f"center ({x_center.item():.3f}, {y_center.item():.3f})")

print(f"final loss {loss.item():.5f} center ({x_center.item():.3f}, {y_center.item():.3f}) wanted (0.620, 0.550)")
print("colour", [round(c, 3) for c in colour.tolist()])
