import torch

WIDTH = HEIGHT = 64


def apply_ellipse_mask(img, pos, axes):
    rows = torch.arange(HEIGHT, dtype=torch.float32)[:, None]
    cols = torch.arange(WIDTH, dtype=torch.float32)[None, :]
    inside = ((cols - pos[0]) / axes[0]) ** 2 + ((rows - pos[1]) / axes[1]) ** 2
    mask = torch.sigmoid(10.0 * (1.0 - inside))
    return img * (1.0 - mask) + mask


def main():
    torch.manual_seed(0)
    centre = torch.tensor([WIDTH / 2, HEIGHT / 2])
    canvas = torch.full((HEIGHT, WIDTH), 0.1)
    reference = apply_ellipse_mask(canvas, centre, torch.tensor([18.0, 18.0]))
    axes = torch.tensor([11.0, 26.0], requires_grad=True)
    optimizer = torch.optim.Adam([axes], lr=0.1)
    criterion = torch.nn.MSELoss()
    for step in range(200):
        optimizer.zero_grad()
        image = apply_ellipse_mask(canvas, centre, axes)
        loss = criterion(image, reference)
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step}: loss {loss.item():.5f}  axes {axes[0].item():.2f} {axes[1].item():.2f}")


if __name__ == "__main__":
    main()
