import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.autograd.set_detect_anomaly(True)


class Denoiser:
    def __init__(self, noisy, weight):
        self.noisy = noisy
        self.weight = weight
        self.image = torch.zeros_like(noisy, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.image], lr=0.05)

    def gradient_magnitude(self):
        grad_x = F.pad(self.image[:, 1:] - self.image[:, :-1], (0, 1))
        grad_y = F.pad(self.image[1:, :] - self.image[:-1, :], (0, 0, 0, 1))
        return (grad_x**2 + grad_y**2 + 1e-8) ** 0.5

    def step(self):
        data_loss = (self.image - self.noisy).pow(2).mean()
        loss = data_loss + self.weight * self.gradient_magnitude().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


clean = torch.zeros(32, 32)
clean[8:24, 8:24] = 1.0
denoiser = Denoiser(clean + 0.2 * torch.randn(32, 32), weight=0.05)
for step in range(1, 201):
    loss = denoiser.step()
    if step % 50 == 0:
        error = (denoiser.image.detach() - clean).pow(2).mean().item()
        print(f"step {step}: loss {loss:.5f}, error {error:.5f}")
